# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Tables of PTX for link_matrix.py: kinds of symbols, what code and data do with a symbol, and features of the language without one.

A kind is (its statement in the file that uses it, its statement in another file or None, its space). A use is a statement, or several, for
symbols of the spaces it names; "s" is the symbol. Registers: %d1 is a pointer, %r1 a number, both are parameters of the user."""

ARRAY = ".align 16 .b32 s[16]"
START = " = {1, 2, 3, 4}"
FUNCTION = "(.param .b32 z) s(.param .b32 a)"
BODY = " { .reg .b32 %r<3>; ld.param.u32 %r1, [a]; add.u32 %r1, %r1, 7; st.param.b32 [z], %r1; ret; }\n"
OTHER_BODY = BODY.replace("7", "9")
UUID = ".attribute(.unified(19, 95)) "

KINDS = {
    "global": (".global %s%s;\n" % (ARRAY, START), None, "global"),
    "global zero": (".global %s;\n" % ARRAY, None, "global"),
    "global visible": (".visible .global %s%s;\n" % (ARRAY, START), None, "global"),
    "global extern": (".extern .global %s;\n" % ARRAY, ".visible .global %s%s;\n" % (ARRAY, START), "global"),
    "global extern unsized": (".extern .global .align 16 .b32 s[];\n", ".visible .global %s;\n" % ARRAY, "global"),
    "global weak": (".weak .global %s%s;\n" % (ARRAY, START), None, "global"),
    "global weak twice": (".weak .global %s%s;\n" % (ARRAY, START), ".weak .global %s = {9, 8};\n" % ARRAY, "global"),
    "global weak beaten": (".weak .global %s%s;\n" % (ARRAY, START), ".visible .global %s;\n" % ARRAY, "global"),
    "common": (".common .global %s;\n" % ARRAY, None, "global"),
    "common twice": (".common .global %s;\n" % ARRAY, ".common .global .align 16 .b32 s[24];\n", "global"),
    "common beaten": (".common .global %s;\n" % ARRAY, ".visible .global %s%s;\n" % (ARRAY, START), "global"),
    "managed": (".visible .global .attribute(.managed) %s%s;\n" % (ARRAY, START), None, "global"),
    "managed extern": (".extern .global .attribute(.managed) %s;\n" % ARRAY, ".visible .global .attribute(.managed) %s;\n" % ARRAY, "global"),
    "global unified": (".visible .global %s%s;\n" % (UUID, ARRAY), None, "global"),
    "global bytes": (".global .align 16 .b8 s[64] = {1, 2, 3};\n", None, "global"),
    "const": (".const %s%s;\n" % (ARRAY, START), None, "const"),
    "const visible": (".visible .const %s;\n" % ARRAY, None, "const"),
    "const extern": (".extern .const %s;\n" % ARRAY, ".visible .const %s%s;\n" % (ARRAY, START), "const"),
    "const weak": (".weak .const %s%s;\n" % (ARRAY, START), None, "const"),
    "const weak twice": (".weak .const %s%s;\n" % (ARRAY, START), ".weak .const %s = {9, 8};\n" % ARRAY, "const"),
    "shared": (".shared %s;\n" % ARRAY, None, "shared"),
    "shared visible": (".visible .shared %s;\n" % ARRAY, None, "shared"),
    "shared extern": (".extern .shared %s;\n" % ARRAY, ".visible .shared %s;\n" % ARRAY, "shared"),
    "shared weak": (".weak .shared %s;\n" % ARRAY, ".weak .shared %s;\n" % ARRAY, "shared"),
    "shared inside": ("", None, "shared"),
    "shared array": (".extern .shared .align 16 .b32 s[];\n", None, "shared"),
    "shared array beaten": (".extern .shared .align 16 .b32 s[];\n", ".visible .shared %s;\n" % ARRAY, "shared"),
    "function": (".func %s%s" % (FUNCTION, BODY), None, "function"),
    "function visible": (".visible .func %s%s" % (FUNCTION, BODY), None, "function"),
    "function extern": (".extern .func %s;\n" % FUNCTION, ".visible .func %s%s" % (FUNCTION, BODY), "function"),
    "function weak": (".weak .func %s%s" % (FUNCTION, BODY), None, "function"),
    "function weak twice": (".weak .func %s%s" % (FUNCTION, BODY), ".weak .func %s%s" % (FUNCTION, OTHER_BODY), "function"),
    "function weak beaten": (".weak .func %s%s" % (FUNCTION, BODY), ".visible .func %s%s" % (FUNCTION, OTHER_BODY), "function"),
    "function unified": (".visible .func %s %s%s" % (UUID, FUNCTION, BODY), None, "function"),
    "alias": (".visible .func %s%s.visible .func %s;\n.alias s, t;\n" % (FUNCTION.replace("s(", "t("), BODY, FUNCTION), None, "function"),
    "alias extern": (".extern .func %s;\n" % FUNCTION, ".visible .func %s%s.visible .func %s;\n.alias s, t;\n" % (FUNCTION.replace("s(", "t("), BODY, FUNCTION), "function"),
    "kernel": (".visible .entry s(.param .b32 a) { ret; }\n", None, "kernel"),
    "kernel extern": (".extern .entry s(.param .b32 a);\n", ".visible .entry s(.param .b32 a) { ret; }\n", "kernel"),
    "texture": (".global .texref s;\n", None, "texture"),
    "texture visible": (".visible .global .texref s;\n", None, "texture"),
    "texture extern": (".extern .global .texref s;\n", ".visible .global .texref s;\n", "texture"),
    "texture set": (".visible .global .texref s = {width = 64, height = 4, channel_data_type = 4318};\n", None, "texture"),
    "surface": (".global .surfref s;\n", None, "surface"),
    "surface extern": (".extern .global .surfref s;\n", ".visible .global .surfref s;\n", "surface"),
    "sampler": (".global .samplerref s;\n.global .texref picture;\n", None, "sampler"),
    "sampler set": (".visible .global .samplerref s = {filter_mode = nearest, addr_mode_0 = clamp_to_border};\n.global .texref picture;\n", None, "sampler"),
    "none": ("", None, "none"),
}

MEMORY = ("global", "const", "shared")
ANY = MEMORY + ("function", "kernel", "texture", "surface", "sampler")
OUT = " st.global.u32 [%d1], %r2;"
OUT_D = " st.global.u64 [%d1], %d2;"

# name: (spaces, statements). SPACE is the symbol's space.
USES = {
    "ld": (MEMORY, "ld.SPACE.u32 %r2, [s];" + OUT),
    "ld addend": (MEMORY, "ld.SPACE.u32 %r2, [s+20];" + OUT),
    "ld negative": (MEMORY, "ld.SPACE.u32 %r2, [s+-8];" + OUT),
    "ld far": (MEMORY, "ld.SPACE.u32 %r2, [s+40000];" + OUT),
    "ld u8": (MEMORY, "ld.SPACE.u8 %r2, [s+5];" + OUT),
    "ld v4": (MEMORY, "ld.SPACE.v4.u32 {%r2, %r3, %r4, %r5}, [s+16]; add.u32 %r2, %r2, %r5;" + OUT),
    "ld u64": (MEMORY, "ld.SPACE.u64 %d2, [s+8];" + OUT_D),
    "ld by index": (MEMORY, "mov.u64 %d2, s; mul.wide.u32 %d3, %r1, 4; add.u64 %d2, %d2, %d3; ld.SPACE.u32 %r2, [%d2+4];" + OUT),
    "ld volatile": (("global", "shared"), "ld.volatile.SPACE.u32 %r2, [s+4];" + OUT),
    "ld acquire": (("global", "shared"), "ld.acquire.gpu.SPACE.u32 %r2, [s+4];" + OUT),
    "ld nc": (("global",), "ld.global.nc.u32 %r2, [s+4];" + OUT),
    "ld generic": (MEMORY, "mov.u64 %d2, s; cvta.SPACE.u64 %d3, %d2; ld.u32 %r2, [%d3+4];" + OUT),
    "ldu": (("global",), "ldu.global.u32 %r2, [s+4];" + OUT),
    "st": (("global", "shared"), "st.SPACE.u32 [s+8], %r1;"),
    "st v2": (("global", "shared"), "st.SPACE.v2.u32 [s+8], {%r1, 7};"),
    "st release": (("global", "shared"), "st.release.gpu.SPACE.u32 [s+8], %r1;"),
    "st by index": (("global", "shared"), "mov.u64 %d2, s; mul.wide.u32 %d3, %r1, 4; add.u64 %d2, %d2, %d3; st.SPACE.u32 [%d2+4], %r1;"),
    "atom": (("global", "shared"), "atom.SPACE.add.u32 %r2, [s+4], %r1;" + OUT),
    "atom cas": (("global", "shared"), "atom.SPACE.cas.b64 %d2, [s+8], %d1, %d1;" + OUT_D),
    "atom float": (("global", "shared"), "atom.SPACE.add.f32 %f1, [s], 0f3F800000; st.global.f32 [%d1], %f1;"),
    "red": (("global", "shared"), "red.SPACE.add.u32 [s+12], %r1;"),
    "red v2": (("global",), "red.global.add.v2.f32 [s+8], {%f1, %f1};"),
    "mov": (ANY, "mov.u64 %d2, s;" + OUT_D),
    "mov addend": (MEMORY, "mov.u64 %d2, s+24;" + OUT_D),
    "mov 32": (MEMORY, "mov.u32 %r2, s;" + OUT),
    "mov low": (ANY, "mov.u64 %d2, s; cvt.u32.u64 %r2, %d2;" + OUT),
    "mov high": (ANY, "mov.u64 %d2, s; shr.u64 %d2, %d2, 32; cvt.u32.u64 %r2, %d2;" + OUT),
    "mov and": (ANY, "mov.u64 %d2, s; and.b64 %d2, %d2, 4095; add.u64 %d2, %d2, %d1;" + OUT_D),
    "mov shift": (MEMORY, "mov.u64 %d2, s; shr.u64 %d2, %d2, 4; and.b64 %d2, %d2, 16383; or.b64 %d2, %d2, 0x4000000000000000;" + OUT_D),
    "cvta": (MEMORY, "mov.u64 %d3, s; cvta.SPACE.u64 %d2, %d3;" + OUT_D),
    "isspacep": (MEMORY, "mov.u64 %d3, s; cvta.SPACE.u64 %d2, %d3; isspacep.SPACE %p1, %d2; selp.u32 %r2, 1, 0, %p1;" + OUT),
    "prefetch": (("global",), "prefetch.global.L2 [s+4];"),
    "prefetchu": (("global",), "mov.u64 %d2, s; cvta.global.u64 %d3, %d2; prefetchu.L1 [%d3];"),
    "discard": (("global",), "discard.global.L2 [s], 128;"),
    "createpolicy": (("global",), "createpolicy.range.global.L2::evict_last.b64 %d2, [s], 64, 64;" + OUT_D),
    "compare": (("global", "shared", "function"), "mov.u64 %d2, s; setp.eq.u64 %p1, %d2, %d1; selp.u32 %r2, 1, 0, %p1;" + OUT),
    "passed": (MEMORY, "mov.u64 %d2, s; cvta.SPACE.u64 %d3, %d2; { .param .b64 q; st.param.b64 [q], %d3; call taker, (q); }"),
    "branch on": (MEMORY, "ld.SPACE.u32 %r2, [s]; L: .branchtargets A, B, C, D; brx.idx %r2, L; A: st.global.u32 [%d1], 1; B: st.global.u32 [%d1+4], %r2; C: st.global.u32 [%d1+8], 3;"
                          " bar.sync 0; D: st.global.u32 [%d1+12], 4;"),
    "cp.async": (("shared",), "cp.async.ca.shared.global [s+4], [%d1], 4; cp.async.commit_group; cp.async.wait_all;"),
    "cp.async 16": (("shared",), "cp.async.cg.shared.global [s+16], [%d1], 16;"),
    "cp.async from": (("global",), "{ .shared .align 16 .b8 to[32]; mov.u64 %d2, s; cp.async.ca.shared.global [to], [s], 16; }"),
    "cp.async.mbarrier": (("shared",), "cp.async.mbarrier.arrive.noinc.shared.b64 [s+8];"),
    "mbarrier": (("shared",), "mbarrier.init.shared.b64 [s], 4; mbarrier.arrive.shared.b64 %d2, [s]; mbarrier.test_wait.shared.b64 %p1, [s], %d2; mbarrier.inval.shared.b64 [s];"),
    "mbarrier expect": (("shared",), "mbarrier.arrive.expect_tx.shared.b64 %d2, [s+8], 16;" + OUT_D),
    "mbarrier try": (("shared",), "mbarrier.try_wait.parity.shared.b64 %p1, [s+8], 0; selp.u32 %r2, 1, 0, %p1;" + OUT),
    "ldmatrix": (("shared",), "ldmatrix.sync.aligned.m8n8.x2.shared.b16 {%r2, %r3}, [s+16];" + OUT),
    "stmatrix": (("shared",), "stmatrix.sync.aligned.m8n8.x1.shared.b16 [s+16], {%r1};"),
    "wmma": (("shared", "global"), "wmma.load.a.sync.aligned.m16n16k16.SPACE.row.f16 {%r2,%r3,%r4,%r5,%r6,%r7,%r8,%r9}, [s];" + OUT),
    "bulk to shared": (("shared",), "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [s+16], [%d1], 16, [s];"),
    "bulk from shared": (("shared",), "cp.async.bulk.global.shared::cta.bulk_group [%d1], [s+16], 16;"),
    "bulk reduce": (("shared",), "cp.reduce.async.bulk.global.shared::cta.bulk_group.add.u32 [%d1], [s], 16;"),
    "bulk from global": (("global",), "{ .shared .align 16 .b8 to[48]; cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [to+16], [s], 16, [to]; }"),
    "bulk to global": (("global",), "{ .shared .align 16 .b8 to[48]; cp.async.bulk.global.shared::cta.bulk_group [s+16], [to], 16; }"),
    "bulk prefetch": (("global",), "cp.async.bulk.prefetch.L2.global [s], 16;"),
    "tensor": (("shared",), "cp.async.bulk.tensor.1d.shared::cluster.global.mbarrier::complete_tx::bytes [s+16], [%d1, {%r1}], [s];"),
    "mapa": (("shared",), "mov.u64 %d2, s; mapa.shared::cluster.u64 %d3, %d2, 1; ld.shared::cluster.u32 %r2, [%d3];" + OUT),
    "mapa direct": (("shared",), "mapa.shared::cluster.u32 %r2, s, 1;" + OUT),
    "st.async": (("shared",), "st.async.shared::cluster.mbarrier::complete_tx::bytes.u32 [s+8], %r1, [s];"),
    "red.async": (("shared",), "red.async.shared::cluster.mbarrier::complete_tx::bytes.add.u32 [s+8], %r1, [s];"),
    "multimem": (("global",), "multimem.red.global.add.u32 [s], %r1;"),
    "tensormap": (("global", "shared"), "tensormap.replace.tile.global_address.SPACE.b1024.b64 [s], %d1;"),
    "tcgen05.alloc": (("shared",), "tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [s], 32; tcgen05.relinquish_alloc_permit.cta_group::1.sync.aligned;"),
    "clusterlaunch": (("shared",), "clusterlaunchcontrol.try_cancel.async.shared::cta.mbarrier::complete_tx::bytes.b128 [s+16], [s];"),
    "call": (("function",), "{ .param .b32 x; .param .b32 y; st.param.b32 [x], %r1; call (y), s, (x); ld.param.b32 %r2, [y]; }" + OUT),
    "call twice": (("function",), "{ .param .b32 x; .param .b32 y; st.param.b32 [x], %r1; call (y), s, (x); ld.param.b32 %r2, [y]; st.param.b32 [x], %r2; call (y), s, (x); ld.param.b32 %r3, [y];"
                                  " add.u32 %r2, %r2, %r3; }" + OUT),
    "call indirect": (("function",), "P: .callprototype (.param .b32 _) _ (.param .b32 _); mov.u64 %d2, s; setp.eq.u32 %p1, %r1, 3; @%p1 ld.global.u64 %d2, [%d1];"
                                     " { .param .b32 x; .param .b32 y; st.param.b32 [x], %r1; call (y), %d2, (x), P; ld.param.b32 %r2, [y]; }" + OUT),
    "call targets": (("function",), "P: .calltargets s; mov.u64 %d2, s; setp.eq.u32 %p1, %r1, 3; @%p1 ld.global.u64 %d2, [%d1];"
                                    " { .param .b32 x; .param .b32 y; st.param.b32 [x], %r1; call (y), %d2, (x), P; ld.param.b32 %r2, [y]; }" + OUT),
    "launch": (("kernel",), "mov.u64 %d2, s; { .param .b64 q; st.param.b64 [q], %d2; call starter, (q); }"),
    "tex 1d": (("texture",), "tex.1d.v4.f32.f32 {%f1,%f2,%f3,%f4}, [s, {%f5}]; st.global.f32 [%d1], %f1;"),
    "tex 2d": (("texture",), "tex.2d.v4.s32.f32 {%r2,%r3,%r4,%r5}, [s, {%f5,%f6}];" + OUT),
    "tex 3d": (("texture",), "tex.level.3d.v4.f32.f32 {%f1,%f2,%f3,%f4}, [s, {%f5,%f6,%f7,%f8}], %f5; st.global.f32 [%d1], %f1;"),
    "tex array": (("texture",), "tex.a2d.v4.f32.f32 {%f1,%f2,%f3,%f4}, [s, {%r1,%f6,%f7,%f8}]; st.global.f32 [%d1], %f1;"),
    "tex grad": (("texture",), "tex.grad.2d.v4.f32.f32 {%f1,%f2,%f3,%f4}, [s, {%f5,%f6}], {%f5,%f6}, {%f7,%f8}; st.global.f32 [%d1], %f1;"),
    "tld4": (("texture",), "tld4.r.2d.v4.f32.f32 {%f1,%f2,%f3,%f4}, [s, {%f5,%f6}]; st.global.f32 [%d1], %f1;"),
    "txq": (("texture",), "txq.width.b32 %r2, [s]; txq.height.b32 %r3, [s]; add.u32 %r2, %r2, %r3;" + OUT),
    "tex handle": (("texture",), "mov.u64 %d2, s; tex.1d.v4.f32.f32 {%f1,%f2,%f3,%f4}, [%d2, {%f5}]; st.global.f32 [%d1], %f1;"),
    "suld": (("surface",), "suld.b.1d.b32.trap {%r2}, [s, {%r1}];" + OUT),
    "suld 3d": (("surface",), "suld.b.3d.v2.b32.clamp {%r2,%r3}, [s, {%r1,%r1,%r1,%r1}];" + OUT),
    "sust": (("surface",), "sust.b.2d.b32.zero [s, {%r1,%r1}], {%r1};"),
    "sust p": (("surface",), "sust.p.1d.v4.b32.trap [s, {%r1}], {%r1,%r1,%r1,%r1};"),
    "sured": (("surface",), "sured.b.add.1d.u32.trap [s, {%r1}], %r1;"),
    "suq": (("surface",), "suq.width.b32 %r2, [s];" + OUT),
    "sampled": (("sampler",), "tex.1d.v4.f32.f32 {%f1,%f2,%f3,%f4}, [picture, s, {%f5}]; st.global.f32 [%d1], %f1;"),
    "sampled twice": (("sampler",), "tex.1d.v4.f32.f32 {%f1,%f2,%f3,%f4}, [picture, s, {%f5}]; tld4.g.2d.v4.f32.f32 {%f5,%f6,%f7,%f8}, [picture, s, {%f1,%f2}]; st.global.f32 [%d1], %f5;"),
}

READ = "ld.SPACE.u64 %d2, [table]; ld.SPACE.u32 %r2, [table+12]; st.global.u32 [%d1+8], %r2;" + OUT_D
# Data that holds the symbol's address: statements of the file behind the symbol, and the space of the data.
DATA = {}
for where in ("global", "const"):
    for linkage in ("", ".visible ", ".weak "):
        for name, entry in (("", "s"), (" addend", "s+12"), (" generic", "generic(s)"), (" generic addend", "generic(s)+8")):
            if not linkage or name in ("", " generic"):
                DATA["data%s %s%s" % (name, where, linkage and " " + linkage[1:-1])] = (linkage + ".%s .align 8 .u64 table[3] = {%s, 5, %s};\n" % (where, entry, entry), where)
    DATA["data 32 %s" % where] = (".%s .align 8 .u32 table[4] = {1, s, s+4, 2};\n" % where, where)
    DATA["data bytes %s" % where] = (".%s .align 8 .b8 table[16] = {0xFF(s), 0xFF00(s), 0xFF0000(s), 0xFF000000(s), 0xFF00000000(s), 0xFF0000000000(s), 0xFF000000000000(s), 0xFF00000000000000(s), 1};\n"
                                     % where, where)
    DATA["data bytes generic %s" % where] = (".%s .align 8 .b8 table[16] = {2, 0xFF(generic(s)), 0xFF00(generic(s)), 0xFF0000(generic(s)), 0xFF000000(generic(s)), 0xFF00000000(generic(s)),"
                                             " 0xFF0000000000(generic(s)), 0xFF000000000000(generic(s)), 0xFF00000000000000(generic(s)), 1};\n" % where, where)
    DATA["data bytes addend %s" % where] = (".%s .align 8 .b8 table[16] = {0xFF(s+4), 0xFF00(s+4), 3, 0xFF(s+8)};\n" % where, where)
DATA["data managed"] = (".global .attribute(.managed) .align 8 .u64 table[3] = {s, 5, s};\n", "global")
for name, (text, where) in DATA.items():
    USES[name] = (ANY, READ.replace("SPACE", where))

# The language, without a symbol: statements of the user; "HEAD:" begins directives of the user, "FILE:" statements before it.
FEATURES = {
    "local": "{ .local .align 16 .b8 l[400]; st.local.u32 [l+8], %r1; mul.wide.u32 %d3, %r1, 4; mov.u64 %d2, l; add.u64 %d2, %d2, %d3; ld.local.u32 %r2, [%d2]; }" + OUT,
    "alloca": "alloca.u64 %d2, %d1; st.local.u32 [%d2], %r1; stacksave.u64 %d3; stackrestore.u64 %d3;",
    "barriers": "bar.sync 3; barrier.sync 5, 64; bar.arrive 7, 64; bar.red.popc.u32 %r2, 2, %p1;" + OUT,
    "barrier by number": "bar.sync %r1;",
    "cluster": "barrier.cluster.arrive; barrier.cluster.wait; mov.u32 %r2, %cluster_ctarank;" + OUT,
    "votes": "vote.sync.ballot.b32 %r2, %p1, -1; match.any.sync.b32 %r3, %r1, -1; redux.sync.add.u32 %r4, %r1, -1; add.u32 %r2, %r2, %r3; add.u32 %r2, %r2, %r4;" + OUT,
    "shfl": "shfl.sync.bfly.b32 %r2|%p1, %r1, 1, 31, -1;" + OUT,
    "special": "mov.u32 %r2, %dynamic_smem_size; mov.u32 %r3, %total_smem_size; add.u32 %r2, %r2, %r3; mov.u32 %r3, %nctaid.y; add.u32 %r2, %r2, %r3;" + OUT,
    "special 64": "mov.u64 %d2, %gridid; mov.u64 %d3, %globaltimer; add.u64 %d2, %d2, %d3;" + OUT_D,
    "envreg": "mov.b32 %r2, %envreg3;" + OUT,
    "clock": "mov.u64 %d2, %clock64;" + OUT_D,
    "reserved shared": "mov.u32 %r2, %aggr_smem_size;" + OUT,
    "trap": "setp.eq.u32 %p1, %r1, 9; @%p1 trap; @!%p1 exit;",
    "brkpt": "brkpt; pmevent 3;",
    "nanosleep": "nanosleep.u32 %r1;",
    "depend": "griddepcontrol.wait; griddepcontrol.launch_dependents;",
    "elect": "elect.sync %r2|%p1, -1;" + OUT,
    "setmaxnreg": "setmaxnreg.inc.sync.aligned.u32 96;",
    "dp4a": "dp4a.u32.u32 %r2, %r1, %r1, %r1;" + OUT,
    "mma": "mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32 {%f1,%f2,%f3,%f4}, {%r1,%r1}, {%r1}, {%f1,%f2,%f3,%f4}; st.global.f32 [%d1], %f1;",
    "mma int": "mma.sync.aligned.m8n8k16.row.col.s32.s8.s8.s32 {%r2,%r3}, {%r1}, {%r1}, {%r2,%r3};" + OUT,
    "mma double": "mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64 {%e1,%e2}, {%e3}, {%e4}, {%e1,%e2}; st.global.f64 [%d1], %e1;",
    "wgmma": "wgmma.fence.sync.aligned; wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {%f1,%f2,%f3,%f4}, %d1, %d1, 1, 1, 1, 0, 0; wgmma.commit_group.sync.aligned; wgmma.wait_group.sync.aligned 0;"
             " st.global.f32 [%d1], %f1;",
    "divide": "div.u64 %d2, %d1, %d3; div.rn.f64 %e1, %e2, %e3; st.global.f64 [%d1+8], %e1; sqrt.rn.f64 %e1, %e2; rem.s64 %d3, %d1, %d2; st.global.u64 [%d1+16], %d3; st.global.f64 [%d1+24], %e1;" + OUT_D,
    "divide float": "div.rn.f32 %f1, %f2, %f3; sqrt.rn.f32 %f4, %f1; rcp.rn.f64 %e1, %e2; st.global.f64 [%d1+8], %e1; st.global.f32 [%d1], %f4;",
    "branches": "L: .branchtargets A, B, C, D, E, F; brx.idx %r1, L; A: st.global.u32 [%d1], 1; B: st.global.u32 [%d1+4], %r1; bar.sync 0; C: st.global.u32 [%d1+8], 3; bar.sync 0;"
                " D: st.global.u32 [%d1+12], 4; E: st.global.u32 [%d1+16], 4; F: st.global.u32 [%d1+20], 4;",
    "prototype": "P: .callprototype (.param .b64 _) _ (.param .b32 _, .param .align 8 .b8 _[24]); ld.global.u64 %d2, [%d1]; { .param .b32 x; .param .b64 y; .param .align 8 .b8 w[24]; st.param.b32 [x], %r1;"
                 " st.param.b64 [w+8], %d1; call (y), %d2, (x, w), P; ld.param.b64 %d2, [y]; }" + OUT_D,
    "vprintf": "FILE:.extern .func (.param .b32 z) vprintf(.param .b64 a, .param .b64 b);\n.global .align 1 .b8 text[8] = {72, 105, 37, 100, 10, 0};\n"
               "USE:{ .param .b64 x; .param .b64 w; .param .b32 y; mov.u64 %d2, text; cvta.global.u64 %d3, %d2; st.param.b64 [x], %d3; st.param.b64 [w], 0; call (y), vprintf, (x, w); ld.param.b32 %r2, [y]; }" + OUT,
    "malloc": "FILE:.extern .func (.param .b64 z) malloc(.param .b64 a);\n.extern .func free(.param .b64 a);\n"
              "USE:{ .param .b64 x; .param .b64 y; st.param.b64 [x], %d1; call (y), malloc, (x); ld.param.b64 %d2, [y]; st.param.b64 [x], %d2; call free, (x); }" + OUT_D,
    "assertfail": "FILE:.extern .func __assertfail(.param .b64 a, .param .b64 b, .param .b32 c, .param .b64 d, .param .b64 e);\n"
                  "USE:{ .param .b64 a; .param .b64 b; .param .b32 c; .param .b64 d; .param .b64 e; st.param.b64 [a], %d1; st.param.b64 [b], %d1; st.param.b32 [c], %r1; st.param.b64 [d], %d1; st.param.b64 [e], 1;"
                  " call __assertfail, (a, b, c, d, e); }",
    "unprototyped": "FILE:.extern .func __cuda_syscall_nothing();\nUSE:call __cuda_syscall_nothing;",
    "noreturn": "FILE:.func end() .noreturn { trap; }\nUSE:setp.eq.u32 %p1, %r1, 9; @%p1 call end;",
    "maxnreg": "HEAD:.maxnreg 40 USE:mul.wide.u32 %d2, %r1, 3;" + OUT_D,
    "maxntid": "HEAD:.maxntid 128, 2, 1 USE:mul.wide.u32 %d2, %r1, 3;" + OUT_D,
    "reqntid": "HEAD:.reqntid 64, 2 .minnctapersm 2 USE:mul.wide.u32 %d2, %r1, 3;" + OUT_D,
    "cluster dims": "HEAD:.explicitcluster .reqnctapercluster 2, 1 USE:mov.u32 %r2, %cluster_nctarank;" + OUT,
    "cluster most": "HEAD:.maxclusterrank 8 USE:mov.u32 %r2, %is_explicit_cluster.x;" + OUT,
    "blocks are clusters": "HEAD:.blocksareclusters .reqntid 32 .reqnctapercluster 2 USE:mov.u32 %r2, %ctaid.x;" + OUT,
    "nounroll": "HEAD:.pragma \"nounroll\"; USE:mul.wide.u32 %d2, %r1, 3;" + OUT_D,
    "abi_preserve": "HEAD:.abi_preserve 16 .abi_preserve_control 2 USE:mul.wide.u32 %d2, %r1, 3;" + OUT_D,
    "recursion": "FILE:.visible .func (.param .b32 z) again(.param .b32 a) { .reg .b32 %r<4>; .reg .pred %p<2>; ld.param.u32 %r1, [a]; setp.eq.u32 %p1, %r1, 0; @%p1 bra E; sub.u32 %r2, %r1, 1;"
                 " { .param .b32 x; .param .b32 y; st.param.b32 [x], %r2; call (y), again, (x); ld.param.b32 %r3, [y]; } add.u32 %r1, %r1, %r3; E: st.param.b32 [z], %r1; ret; }\n"
                 "USE:{ .param .b32 x; .param .b32 y; st.param.b32 [x], %r1; call (y), again, (x); ld.param.b32 %r2, [y]; }" + OUT,
    "structure": "FILE:.visible .func (.param .align 16 .b8 z[32]) big(.param .align 16 .b8 a[64]) { .reg .b64 %d<3>; ld.param.b64 %d1, [a+40]; st.param.b64 [z+8], %d1; ret; }\n"
                 "USE:{ .param .align 16 .b8 x[64]; .param .align 16 .b8 y[32]; st.param.b64 [x+40], %d1; call (y), big, (x); ld.param.b64 %d2, [y+8]; }" + OUT_D,
    "unread": "FILE:.visible .const .align 4 .b32 alone[3] = {1, 2, 3};\n.visible .shared .align 8 .b8 nobody[40];\n.visible .global .u32 none;\n.global .texref unseen;\nUSE:",
    "empty": "FILE:.visible .func nothing() { ret; }\nUSE:call nothing;",
    "dead": "FILE:.visible .const .align 4 .b32 only[3] = {1, 2, 3};\n.shared .align 8 .b8 there[40];\n.visible .func (.param .b32 z) dead() { .reg .b32 %r<3>; ld.const.u32 %r1, [only+4]; st.shared.u32 [there], %r1;"
            " st.param.b32 [z], %r1; ret; }\nUSE:",
    "tcgen05": "tcgen05.fence::before_thread_sync; tcgen05.ld.sync.aligned.32x32b.x1.b32 {%r2}, [%r1]; tcgen05.wait::ld.sync.aligned;" + OUT,
    "warpgroup": "wgmma.fence.sync.aligned;",
    "fences": "fence.acq_rel.sys; membar.gl; fence.proxy.async; fence.mbarrier_init.release.cluster;",
    "stack": "{ .local .align 4 .b8 l[12000]; mul.wide.u32 %d3, %r1, 4; mov.u64 %d2, l; add.u64 %d2, %d2, %d3; st.local.u32 [%d2], 1; ld.local.u32 %r2, [l+8]; }" + OUT,
}
for name, text in FEATURES.items():
    USES[name] = (("none",), text)

REGISTERS = ".reg .b64 %d<8>; .reg .b32 %r<12>; .reg .f32 %f<10>; .reg .f64 %e<6>; .reg .pred %p<3>;"
HELPERS = (".visible .func taker(.param .b64 a) { .reg .b64 %d<3>; ld.param.u64 %d1, [a]; st.u32 [%d1], 5; ret; }\n"
           ".visible .func starter(.param .b64 a) { .reg .b64 %d<3>; ld.param.u64 %d1, [a]; st.global.u64 [%d1], %d1; ret; }\n")
# A file before it, so that nothing lies where its section begins.
FILLER = """.visible .const .align 4 .b32 f_const[5] = {1, 2, 3, 4, 5};
.visible .global .align 4 .b32 f_zero[7];
.shared .align 4 .b8 f_shared[28];
.visible .func (.param .b32 z) f_function(.param .b32 a) { .reg .b32 %r<3>; ld.param.u32 %r1, [a]; st.shared.u32 [f_shared], %r1; ld.shared.u32 %r2, [f_shared+4]; st.param.b32 [z], %r2; ret; }
.visible .global .align 8 .u64 f_data[3] = {7, f_zero, f_function};
.visible .entry f_kernel(.param .u64 p, .param .u32 i) { .reg .b64 %d<4>; .reg .b32 %r<6>; ld.param.u64 %d1, [p]; ld.param.u32 %r1, [i]; ld.const.u32 %r2, [f_const+8];
 { .param .b32 x; .param .b32 y; st.param.b32 [x], %r2; call (y), f_function, (x); ld.param.b32 %r3, [y]; } st.global.u32 [%d1], %r3; ld.global.u64 %d2, [f_data+8]; st.global.u64 [%d1+8], %d2; ret; }
"""


def applies(kind, use):
    return KINDS[kind][2] in USES[use][0]


def head(arch, independent=False):
    return ".version 9.0\n.target sm_%s%s\n.address_size 64\n" % (arch, ", texmode_independent" if independent else "")


def program(kind, use, user, arch):
    """The three files: one before it, the one that uses the symbol ("kernel" or "function" does), one behind it."""
    own, other, space = KINDS[kind]
    text = USES[use][1].replace("SPACE", space)
    inside = ".shared %s; " % ARRAY if kind == "shared inside" else ""
    before, directives = "", ""
    if text.startswith("FILE:"):
        before, text = text[5:].split("USE:")
    elif text.startswith("HEAD:"):
        directives, text = text[5:].split("USE:")
    if use in DATA:
        before = DATA[use][0]
    independent = space == "sampler"
    file = head(arch, independent) + own + before + (HELPERS if use in ("passed", "launch") else "")
    body = "{ %s %sld.param.u64 %%d1, [p]; ld.param.u32 %%r1, [i]; %s ret; }\n" % (REGISTERS, inside, text)
    if user == "kernel":
        file += ".visible .entry user(.param .u64 p, .param .u32 i) %s%s" % (directives, body)
    else:
        file += ".visible .func user(.param .u64 p, .param .u32 i) %s%s" % (directives, body)
        call = "{ .reg .b64 %d<2>; .reg .b32 %r<2>; ld.param.u64 %d1, [p]; ld.param.u32 %r1, [i]; { .param .b64 x; .param .b32 y; st.param.b64 [x], %d1; st.param.b32 [y], %r1; call user, (x, y); } ret; }\n"
        file += ".visible .entry caller(.param .u64 p, .param .u32 i) %s" % call
    last = head(arch, independent) + (other or "") + ".visible .entry last(.param .u64 p) { .reg .b64 %d<2>; ld.param.u64 %d1, [p]; st.global.u32 [%d1], 1; ret; }\n"
    return [head(arch, independent) + FILLER, file, last]
