/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* From one file to the device ELFs that are linked: a cubin goes as it is; of every container in anything
 * else, one member. What cannot be linked is refused, and never left out without a word. */
#include "drive/link.h"

#include "drive/host_files.h"
#include "format/elf/names.h"
#include "format/elf/read.h"
#include "format/fatbin/read.h"
#include "intake/probe.h"

/* Bytes of a device ELF that are looked at before it is read: its machine is among them. */
enum { HEAD = 64 };

/* Room that each piece asks for before anything is done with it. */
enum { MOST_EVENTS = 4 };

/* The file at hand, and the piece of it that is looked at. */
typedef struct file_at_hand {
    cv_linker *linker;
    cv_span name, bytes;
    cv_budget budget; /* of all that is chosen from it */
    unsigned flags;
    bool archive;
    uint64_t pieces,
        done;            /* containers and images; those that were added, or are left out as they should be */
    uint64_t container;  /* the last one that was looked at */
    cuvet_status status; /* the last refusal */
    bool compiled;       /* the piece was PTX */
    uint64_t file_at;    /* its name, in the pool of the events */
    cv_class known;      /* what it is */
    cv_host_shelf shelf; /* what is known of it and its members */
    /* the piece */
    uint64_t member_at, off;
    cv_u8s title; /* "lib.a(member.o)" */
} file_at_hand;

static cv_span title_of(const file_at_hand *file)
{
    return file->title.count ? cv_span_of(cv_u8s_get(&file->title, 0), file->title.count, 0) : file->name;
}

static void tell_event(file_at_hand *file, cuvet_event_kind kind, cuvet_status status)
{
    const cv_link_event event = { .told = { .kind = kind, .status = status, .off = file->off },
                                  .file_at = file->file_at,
                                  .member_at = file->member_at };

    if (status != CUVET_OK)
        file->status = status;
    cv_linker_tell(file->linker, &event);
}

/* What was said about the file as such, or about a place: none of it decides on a piece. */
static void tell_findings(file_at_hand *file, cv_telling telling)
{
    if (cv_linker_hand_on(file->linker, telling))
        tell_event(file, CUVET_EVENT_FINDINGS, CUVET_OK);
}

static void refuse_piece(file_at_hand *file, cuvet_status status)
{
    (void)cv_linker_hand_on(file->linker, CV_TELL_FINDINGS); /* the event comes without any, too */
    tell_event(file, CUVET_EVENT_REFUSED, status);
}

/* For a reason that the kind of the event says. */
static void refuse_kind(file_at_hand *file, cuvet_event_kind kind)
{
    cv_linker_drop(file->linker);
    tell_event(file, kind, CUVET_E_REFUSED);
}

static void conclude_piece(file_at_hand *file, cuvet_status status)
{
    if (status != CUVET_OK) {
        refuse_piece(file, status);
        return;
    }
    file->done++;
    (void)cv_linker_hand_on(file->linker, CV_TELL_FINDINGS); /* the event comes without any, too */
    tell_event(file,
               file->compiled             ? CUVET_EVENT_COMPILED
               : file->linker->retargeted ? CUVET_EVENT_RETARGETED
                                          : CUVET_EVENT_TAKEN,
               CUVET_OK);
}

static void add_image(file_at_hand *file, uint64_t off, cv_link_piece piece)
{
    piece.name = title_of(file);
    piece.host = cv_hosts_at(&file->linker->hosts, off);
    piece.of_system = file->linker->of_system;
    conclude_piece(file, cv_linker_add(file->linker, &piece));
}

/* A library has code for many targets, and whole programs beside what can be linked: that is no error of the
 * link, as long as it is told. */
static void nothing_chosen(file_at_hand *file, cuvet_status status)
{
    bool whole = status == CUVET_E_REFUSED && cv_linker_holds(file->linker, CV_R_ADMIT_EXECUTABLE);
    bool left = status == CUVET_E_NO_MATCH && (file->archive || (file->flags & CUVET_ADD_OPTIONAL));

    if ((file->flags & CUVET_ADD_OPTIONAL) && cv_linker_holds(file->linker, CV_R_INPUT_HAS_LTO)) {
        refuse_kind(file, CUVET_EVENT_NEEDS_LTO);
        return;
    }
    if (!left && !(file->archive && whole)) {
        refuse_piece(file, status);
        return;
    }
    cv_linker_drop(file->linker);
    tell_event(file, whole ? CUVET_EVENT_WHOLE_PROGRAM : CUVET_EVENT_NO_MATCH, CUVET_OK);
}

/* Only what the reference linker would take, or what is said to be taken beyond it. */
static bool may_take(file_at_hand *file, const cuvet_item *item)
{
    cuvet_status status = cv_linker_judge_place(file->linker, item);

    file->done += status == CUVET_END; /* left out, and said: that is no failure */
    if (status == CUVET_OK) {
        tell_findings(file, CV_TELL_ALL);
        return true;
    }
    (void)cv_linker_hand_on(file->linker, CV_TELL_ALL); /* the event comes without any, too */
    tell_event(file, CUVET_EVENT_OUTSIDE, status == CUVET_END ? CUVET_OK : status);
    return false;
}

/* A container that is the content of a member, or hides in it, is no place that a linker looks into. */
static __attribute__((noinline)) bool is_at_top(file_at_hand *file, const cv_input *choice, uint64_t off)
{
    const cuvet_item nested = { .flags = CUVET_ITEM_IN_CONTAINER,
                                .container_off = off,
                                .place = CUVET_PLACE_NESTED };
    bool hides = cv_linker_holds(file->linker, CV_R_FATBIN_HIDDEN);

    cv_linker_drop(file->linker); /* the linker says it again */
    return (cv_candidates_get(&choice->candidates, choice->out.candidate)->pub.depth == 0 && !hides) ||
           may_take(file, &nested);
}

static void add_chosen(file_at_hand *file, cv_input *choice, uint64_t off)
{
    /* What is wrong with it is said as of an input that stands alone. */
    const cv_span image = cv_span_of(choice->out.bytes, choice->out.n, 0);

    file->compiled = (choice->out.flags & CUVET_IMAGE_COMPILED) != 0;
    add_image(file, off,
              cv_input_is_clean(choice) ? (cv_link_piece){ .choice = choice }
                                        : (cv_link_piece){ .image = image });
    file->compiled = false;
}

/* As far as the container goes by its own header, or the file. */
static cv_span container_at(const file_at_hand *file, uint64_t off)
{
    cv_span all = cv_span_tail(file->bytes, off);
    uint64_t body = all.len > CV_FATBIN_HEADER ? cv_fatbin_get(all, CV_FB_FIELD_CONTAINER_SIZE) : UINT64_MAX;

    if (all.len > CV_FATBIN_HEADER && body < all.len - CV_FATBIN_HEADER)
        all.len = body + CV_FATBIN_HEADER;
    return all;
}

static void end_choice(cv_linker *linker, cv_input *choice)
{
    uint64_t worker = choice->worker ? choice->worker->ctx.mem.peak : 0;

    linker->peak = cv_max(linker->peak, cv_sat_add(choice->ctx.mem.peak, worker));
    cv_input_free(choice);
}

/* What the compiler said of the piece is told whatever came of it. */
static cuvet_status run_choice(file_at_hand *file, cv_input *choice)
{
    cuvet_status status = cv_input_select(choice);

    if (choice->log.count)
        cv_linker_tell_log(file->linker, file->file_at, file->member_at, (const char *)choice->log.items);
    return status;
}

static cuvet_status begin_choice(file_at_hand *file, cv_input *choice, bool keep)
{
    cv_linker *linker = file->linker;
    const cuvet_select_options config = { .size = sizeof(config),
                                          .target = linker->opts.target,
                                          .policy = linker->opts.policy,
                                          .toolkit = linker->opts.toolkit };
    cuvet_status status;

    *choice = (cv_input){ 0 };
    cv_input_init(choice, &linker->ctx.mem.alloc, &linker->ctx.lim, cv_linker_hold, linker);
    choice->keep = keep;
    choice->of_file = &file->budget;
    choice->budget = file->budget; /* what is left when it ends before it spends anything */
    status = cv_input_configure(choice, &config);
    return status == CUVET_OK ? cv_linker_give_compiler(linker, choice) : status;
}

static cuvet_status choose_member(file_at_hand *file, cv_input *choice, cv_span container, bool keep)
{
    cuvet_status status = begin_choice(file, choice, keep);
    cv_listing list;

    if (status == CUVET_OK && cv_scan_container(&file->linker->tools->scan, &list))
        status = cv_input_bind_listed(choice, container, &list);
    else if (status == CUVET_OK) /* what is wrong with it is told where it lies in the container */
        status = cv_input_bind(choice, container.base, (size_t)container.len, false, NULL);
    return status == CUVET_OK ? run_choice(file, choice) : status;
}

static void add_container(file_at_hand *file, uint64_t off)
{
    cv_linker *linker = file->linker;
    cv_input *choice = &linker->tools->choice;
    cv_span container = container_at(file, off);
    cuvet_status status = choose_member(file, choice, container, true);

    if (choice->moved && (status != CUVET_OK || !cv_input_is_clean(choice))) {
        /* What is wrong with it is told where it lies in the container. */
        cv_linker_drop(linker);
        end_choice(linker, choice);
        cv_islands_drop();
        status = choose_member(file, choice, container, false);
    }
    file->budget = choice->budget; /* of what was told twice, the second time */
    if (status != CUVET_OK)
        nothing_chosen(file, status);
    else if (is_at_top(file, choice, off))
        add_chosen(file, choice, off);
    end_choice(linker, choice);
    cv_islands_drop(); /* of a choice that was not added */
}

/* PTX that lies openly: the reference linker passes over it. */
static void add_text(file_at_hand *file, cv_span text, uint64_t off)
{
    cv_linker *linker = file->linker;
    cv_input *choice = &linker->tools->choice;
    cuvet_status status = begin_choice(file, choice, false);

    if (status == CUVET_OK)
        status = cv_input_bind(choice, text.base, (size_t)text.len, false, NULL);
    if (status == CUVET_OK)
        status = run_choice(file, choice);
    file->budget = choice->budget;
    if (status == CUVET_OK) {
        cv_linker_drop(linker); /* the linker says it again */
        add_chosen(file, choice, off);
    } else {
        nothing_chosen(file, status);
    }
    end_choice(linker, choice);
    cv_islands_drop();
}

static void add_text_file(file_at_hand *file)
{
    cv_linker *linker = file->linker;

    if (!linker->ptx.compiler.compile) {
        refuse_kind(file, CUVET_EVENT_NEEDS_COMPILER);
        return;
    }
    cv_linker_drop(linker);
    cv_ctx_unit(&linker->ctx, file->bytes.len);
    cv_report(&linker->ctx, CV_R_LINK_FROM_TEXT, 0, 0, 0, 0);
    tell_findings(file, CV_TELL_ALL);
    add_text(file, file->bytes, 0);
}

/* Code that a device link made for a host program is no input of the next one. */
static bool is_finished(file_at_hand *file, uint64_t off)
{
    cv_id host = cv_hosts_at(&file->linker->hosts, off);

    if (host == CV_NONE || !cv_hosts_is_finished(&file->linker->hosts, host))
        return false;
    file->done++;
    tell_event(file, CUVET_EVENT_ALREADY_LINKED, CUVET_OK);
    return true;
}

/* The file's name, and the member's, as far as it is text. */
static cuvet_status name_piece(file_at_hand *file, const cuvet_item *item)
{
    cv_mem *mem = &file->linker->tool_mem;
    bool ok = true;
    cv_span member;

    cv_u8s_clear(&file->title);
    file->member_at = UINT64_MAX;
    file->off = (item->flags & CUVET_ITEM_IN_CONTAINER) != 0 ? item->container_off : item->payload_off;
    if (!item->ar_name)
        return CUVET_OK;
    member = cv_span_of(item->ar_name, item->ar_name_len, 0);
    member.len = cv_span_find_byte(member, 0);
    if (!member.len)
        return CUVET_OK;
    for (uint64_t i = 0; i < file->name.len && ok; i++)
        ok = cv_u8s_push(mem, &file->title, cv_u8_at(file->name, i));
    ok = ok && cv_u8s_push(mem, &file->title, '(');
    for (uint64_t i = 0; i < member.len && ok; i++)
        ok = cv_u8s_push(mem, &file->title, cv_u8_at(member, i));
    ok = ok && cv_u8s_push(mem, &file->title, ')');
    return ok ? cv_linker_event_name(file->linker, member, &file->member_at)
              : cv_linker_lose(file->linker, mem);
}

static void forget_piece(file_at_hand *file)
{
    cv_u8s_clear(&file->title);
    file->member_at = UINT64_MAX;
    file->off = 0;
}

static void add_piece(file_at_hand *file, const cuvet_item *item)
{
    cv_scan *scan = &file->linker->tools->scan;
    cv_span image;

    file->pieces++;
    if ((item->flags & CUVET_ITEM_IN_CONTAINER) != 0) {
        file->container = item->container_off;
        if (!is_finished(file, item->container_off) && may_take(file, item))
            add_container(file, item->container_off);
    } else if (item->kind == CUVET_K_PTX && !file->linker->ptx.compiler.compile) {
        refuse_kind(file, CUVET_EVENT_NEEDS_COMPILER);
    } else if ((item->kind != CUVET_K_CUBIN && item->kind != CUVET_K_PTX) ||
               !cv_span_has(file->bytes, item->payload_off, item->stored_size)) {
        refuse_kind(file, CUVET_EVENT_NOT_IN_CONTAINER);
    } else if (may_take(file, item)) {
        image = cv_span_tail(file->bytes, item->payload_off);
        image.len = item->stored_size;
        image.off = 0;
        if (item->kind == CUVET_K_PTX)
            add_text(file, image, item->payload_off);
        else
            add_image(file, item->payload_off,
                      (cv_link_piece){ .image = image, .scan = cv_scan_is_own(scan) ? scan : NULL });
    }
}

static __attribute__((noinline)) cuvet_status walk_file(file_at_hand *file, cv_scan *scan)
{
    cuvet_item item;
    cuvet_status status;

    file->container = UINT64_MAX;
    while ((status = cv_scan_next(scan, &item)) == CUVET_OK) {
        status = cv_linker_event_room(file->linker, MOST_EVENTS);
        if (status != CUVET_OK)
            return status;
        tell_findings(file, CV_TELL_FINDINGS);
        if ((item.flags & CUVET_ITEM_IN_CONTAINER) != 0 && item.container_off == file->container)
            continue; /* it was chosen from already */
        status = name_piece(file, &item);
        if (status != CUVET_OK)
            return status;
        add_piece(file, &item);
        forget_piece(file);
    }
    return status == CUVET_END ? CUVET_OK : status;
}

static void open_up(file_at_hand *file)
{
    const cuvet_scan_options options = { .size = sizeof(options), .depth = CUVET_DEPTH_HEADERS, .jobs = 1 };
    cv_linker *linker = file->linker;
    cv_scan *scan = &linker->tools->scan;
    const cuvet_source src = cv_source_memory(file->bytes.base, file->bytes.len);
    cuvet_status status;

    status =
        cv_scan_open(scan, &linker->ctx.mem.alloc, &linker->ctx.lim, &src, &options, cv_linker_hold, linker);
    if (status == CUVET_OK) {
        cv_scan_for_link(scan, &file->shelf);
        status = walk_file(file, scan);
        forget_piece(file);
        tell_findings(file, CV_TELL_FINDINGS);
        linker->peak = cv_max(linker->peak, cv_scan_peak(scan));
        cv_scan_close(scan);
    }
    if (status != CUVET_OK)
        refuse_piece(file, status);
}

/* Nothing came out of it: is that what its owner would expect? */
static void judge_empty(file_at_hand *file, cuvet_kind type)
{
    bool optional = (file->flags & CUVET_ADD_OPTIONAL) != 0;
    bool host = type == CUVET_K_HOST_ELF || (file->flags & CUVET_ADD_LIBRARY) ||
                (optional && type == CUVET_K_ARCHIVE);
    cuvet_status refusal = file->status;

    if (file->done || (file->pieces && optional))
        return; /* what became of the pieces is told */
    if (file->pieces)
        tell_event(file, CUVET_EVENT_NOTHING_FITS, CUVET_E_NO_MATCH);
    else
        tell_event(file, CUVET_EVENT_NO_DEVICE_CODE, host ? CUVET_OK : CUVET_E_NO_MATCH);
    if (refusal != CUVET_OK)
        file->status = refusal;
}

/* Each diagnostic that counts with the member of the archive that it is about. */
static void tell_members(file_at_hand *file, cv_telling telling, cuvet_event_kind kind)
{
    cv_linker *linker = file->linker;
    cuvet_diag diag;
    cv_span name;

    for (uint64_t i = 0; cv_linker_hand_on_next(linker, telling, &i, &diag);) {
        bool has_name = diag.where.n == 1 && CV_ARRAY_GET(diag.where.step, 0).kind == CUVET_P_MEMBER &&
                        cv_hosts_member_at(&linker->hosts, diag.file_off, &name);

        file->off = diag.file_off;
        if (has_name && cv_linker_event_name(linker, name, &file->member_at) != CUVET_OK)
            (void)cv_linker_lose(linker, &linker->ctx.mem);
        tell_event(file, kind, CUVET_OK);
        forget_piece(file);
    }
    cv_linker_drop(linker);
}

/* What its host objects say. The scan says again what is wrong with them but can be lived with. */
static bool read_hosts(file_at_hand *file)
{
    cv_linker *linker = file->linker;
    cuvet_status status;

    cv_ctx_unit(&linker->ctx, file->bytes.len);
    status = cv_hosts_read(&linker->ctx, &linker->hosts, file->bytes, linker->of_system, &file->shelf);
    cv_islands_drop();
    if (status == CUVET_OK) {
        tell_members(file, CV_TELL_MEMBERS, CUVET_EVENT_NOT_AN_OBJECT);
        return true;
    }
    tell_members(file, CV_TELL_FINDINGS, CUVET_EVENT_DAMAGED);
    tell_event(file, CUVET_EVENT_REFUSED, status);
    return false;
}

/* Is it a file whose first bytes tell all that there is to know of its kind? Then it was looked at. A device
 * ELF is one by its magic and machine: the linker reads it itself, and says what else is wrong with it. */
static bool look_at_head(file_at_hand *file, const cuvet_source *src, bool *device)
{
    uint8_t head[HEAD];
    cv_span bytes = cv_span_of(head, sizeof(head), 0);
    cv_class *known = &file->known;

    *device = false;
    if (src->length < sizeof(head) || src->read_at(src->user, 0, head, sizeof(head)) != CUVET_OK ||
        cv_u32_at(bytes, 0) != CV_ELF_MAGIC)
        return false;
    known->status = cv_classify_look(bytes, sizeof(head), 0, &known->content, &known->why);
    *device = cv_u16_at(bytes, cv_elf_ehdr_at(false, CV_EH_MACHINE)) == CV_EM_CUDA;
    return true;
}

static void look_at_bytes(file_at_hand *file)
{
    cv_class *known = &file->known;

    known->status =
        cv_classify_look(file->bytes, file->linker->ctx.lim.ptx_probe, 0, &known->content, &known->why);
}

static void add_bytes(file_at_hand *file)
{
    cv_linker *linker = file->linker;
    const cuvet_content_info *content = &file->known.content;
    cuvet_status status = file->known.status;

    cv_ctx_unit(&linker->ctx, file->bytes.len);
    if (content->type != CUVET_K_CUBIN)
        (void)cv_class_say(&linker->ctx, &file->known); /* of a device ELF the linker says it */
    if (status == CUVET_OK && content->type != CUVET_K_PTX)
        cv_host_put_kind(&file->shelf, 0, content->type);
    if (status == CUVET_OK && !read_hosts(file))
        return;
    if (status == CUVET_OK && linker->modules_only)
        return;
    if (content->type == CUVET_K_CUBIN) {
        add_image(file, 0, (cv_link_piece){ .image = file->bytes, .known = &file->known });
    } else if (status != CUVET_OK) {
        refuse_piece(file, status);
    } else if (content->type == CUVET_K_PTX) {
        add_text_file(file);
    } else if (content->type == CUVET_K_NVVM || content->type == CUVET_K_LTOIR) {
        refuse_kind(file, CUVET_EVENT_NEEDS_LTO);
    } else if ((content->flags & CUVET_CLASSIFIED_THIN) != 0) {
        refuse_kind(file, CUVET_EVENT_THIN);
    } else {
        file->archive = content->type == CUVET_K_ARCHIVE;
        open_up(file);
        judge_empty(file, content->type);
    }
}

/* The whole file: a link looks at all of it. What the system says is told by the status alone. */
static cuvet_status load_file(file_at_hand *file, const cuvet_source *src, cv_block *bytes)
{
    cv_linker *linker = file->linker;
    const cv_source_state before = cv_source_look(src);
    cuvet_status status;

    if (src->length > linker->ctx.lim.input)
        return cv_reject(&linker->ctx, CV_R_LIMIT_INPUT, 0, src->length, linker->ctx.lim.input);
    if (src->length > linker->ctx.lim.live)
        return cv_reject(&linker->ctx, CV_R_LIMIT_LIVE, 0, src->length, linker->ctx.lim.live);
    bytes->mem = cv_mem_get_raw(&linker->tool_mem, cv_max(src->length, 1));
    if (!bytes->mem)
        return cv_linker_lose(linker, &linker->tool_mem);
    bytes->cap = cv_max(src->length, 1);
    status = src->length ? src->read_at(src->user, 0, bytes->mem, (size_t)src->length) : CUVET_OK;
    if (status == CUVET_OK)
        status = cv_source_unchanged(&linker->ctx, src, &before);
    file->bytes = cv_span_of(bytes->mem, src->length, 0);
    cv_budget_open(&file->budget, &linker->ctx.lim, src->length);
    return status;
}

static cuvet_status begin_file(file_at_hand *file)
{
    cv_linker *linker = file->linker;
    cuvet_status status = cv_linker_event_room(linker, MOST_EVENTS);

    if (status == CUVET_OK)
        status = cv_linker_event_name(linker, file->name, &file->file_at);
    if (status == CUVET_OK && !linker->tools) {
        linker->tools = cv_mem_get_raw(&linker->tool_mem, sizeof(*linker->tools));
        status = linker->tools ? CUVET_OK : cv_linker_lose(linker, &linker->tool_mem);
    }
    return status;
}

static void add_device_elf(file_at_hand *file, const cuvet_source *src)
{
    const cv_link_piece piece = { .src = src, .name = file->name, .host = CV_NONE, .known = &file->known };

    conclude_piece(file, cv_linker_add(file->linker, &piece));
}

static void add_file(file_at_hand *file, const cuvet_source *src)
{
    cv_linker *linker = file->linker;
    cv_block bytes = { 0 };
    bool device = false, looked = look_at_head(file, src, &device);
    cuvet_status status;

    if (device && !linker->modules_only)
        add_device_elf(file, src);
    if (device)
        return;
    status = load_file(file, src, &bytes);
    if (status == CUVET_OK && !looked)
        look_at_bytes(file);
    if (status == CUVET_OK)
        add_bytes(file);
    else
        refuse_piece(file, status);
    cv_mem_put(&linker->tool_mem, bytes.mem, bytes.cap);
}

cuvet_status cv_linker_add_file(cv_linker *linker, const cuvet_source *src, cv_span name, unsigned flags)
{
    file_at_hand file = { .linker = linker,
                          .name = name,
                          .flags = flags,
                          .member_at = UINT64_MAX,
                          .shelf = { .mem = &linker->tool_mem } };

    if (linker->state != CV_LINKER_COLLECTING)
        return CUVET_E_STATE;
    linker->lost = CUVET_OK;
    linker->of_system = (flags & CUVET_ADD_SYSTEM) != 0;
    if (begin_file(&file) == CUVET_OK) {
        cv_linker_listen(linker);
        add_file(&file, src);
        cv_linker_leave(linker);
    }
    cv_u8s_free(&linker->tool_mem, &file.title);
    cv_host_shelf_free(&file.shelf);
    if (linker->lost == CUVET_E_LIMIT)
        return cv_reject(&linker->ctx, CV_R_LIMIT_LIVE, 0, linker->lost_live, linker->lost_limit);
    return linker->lost != CUVET_OK ? linker->lost : file.status;
}
