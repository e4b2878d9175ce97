# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Programs of C++ of several units that know what they compute, made of what several units have: generate(seed) gives CUDA sources, and what
each of their kernels may write.

linked.py has what is defined once. Here are weak functions, tables and variables of which one stays, local names that every unit has,
classes whose tables of virtual functions are in all units, kernels of templates, records of pointers, branch tables, memory of
functions, kernels launched by kernels. One thread computes, so that all of it happens in one order. A weak function that is another one in
each unit is what C++ forbids and linkers meet: whichever a linker takes has to be the one for all, so such a program has several right results.
"""
import collections
import itertools
import random

MASK = 0xFFFFFFFF
STEPS, CHILDREN = 16, 40  # words that the kernel writes, and the first one that kernels write which it launches

Program = collections.namedtuple("Program", "units options number launches questions")  # questions: {kernel: [words that are right]}

HEADER = """typedef unsigned (*callee)(unsigned);
extern __device__ unsigned guard[2];
extern "C" __device__ int printf(const char *, ...);
"""


class Writer:
    def __init__(self, seed):
        self.dice = random.Random("language %d" % seed)
        self.n_units = self.dice.randint(2, 4)
        self.units, self.shared = [[] for _ in range(self.n_units)], []
        self.steps = []  # (text, what it is for an x, with the state of the program and the choices of the linker)
        self.choices = {}  # weak function: units
        self.children, self.kernels = [], {}
        self.place("__device__ unsigned guard[2];")

    def place(self, text, declaration=None):
        self.units[self.dice.randrange(self.n_units)].append(text)
        if declaration:
            self.shared.append(declaration)

    def everywhere(self, make):
        for number, unit in enumerate(self.units):
            unit.append(make(number))

    def word(self):
        return self.dice.choice((self.dice.randrange(16), self.dice.getrandbits(32)))

    def step(self, expression, value, before=""):
        """a function of its own in some unit, or in several"""
        number = len(self.steps)
        self.place("__device__ __noinline__ unsigned step%d(unsigned x) { %s return %s; }" % (number, before, expression),
                   "__device__ unsigned step%d(unsigned x);" % number)
        self.steps.append(value)

    # --- bodies of functions, and what they are -----------------------------------------------------------------

    def branches(self):
        """a branch table, and code that it leads to"""
        k = [self.word() | 1 for _ in range(10)]
        forms = (("x * %du", lambda x, c: x * c & MASK), ("x ^ %du", lambda x, c: x ^ c), ("x + __brev(x) + %du", lambda x, c: (x + int("{:032b}".format(x)[::-1], 2) + c) & MASK),
                 ("__clz(x) + %du", lambda x, c: (32 - x.bit_length() + c) & MASK), ("x / %du", lambda x, c: x // c), ("%du - x", lambda x, c: (c - x) & MASK),
                 ("__popc(x) * %du", lambda x, c: bin(x).count("1") * c & MASK), ("__umulhi(x, %du)", lambda x, c: x * c >> 32))
        used = [self.dice.choice(forms) for _ in k]
        text = "".join("case %d: x = %s; break; " % (i, form[0] % c) for i, (form, c) in enumerate(zip(used, k)))
        return "switch (x %% %d) { %s} return x + %du;" % (len(k), text, k[0]), lambda x, state: (used[x % 10][1](x, k[x % 10]) + k[0]) & MASK

    def body(self, name, kinds=("plain", "counter", "switch", "local", "shared", "constant"), size=None):
        """(text of a body, what it is); what it has of its own has `size` words"""
        a, b, kind, size = self.word() | 1, self.word(), self.dice.choice(kinds), size or self.dice.randint(5, 40)
        if kind == "switch":
            return self.branches()
        if kind == "counter":
            def count(x, state):
                state[name] = (state.get(name, b) + x) & MASK
                return (x * a + state[name]) & MASK
            return "static __device__ unsigned counted = %du; counted += x; return x * %du + counted;" % (b, a), count
        if kind == "local":
            return ("unsigned l[%d] = {}; for (int i = 0; i < %d; i++) l[(i * 7 + x) %% %d] = x * i ^ %du; return l[%d] + %du;" % (size, size, size, b, size // 2, a),
                    lambda x, state: (last(x, b, size) + a) & MASK)
        if kind == "shared":
            return ("__shared__ volatile unsigned s[%d]; s[x %% %d] = x + %du; s[(x + 1) %% %d] = %du; return s[x %% %d] * 3 ^ s[(x + 1) %% %d];"
                    % (size, size, b, size, a, size, size), lambda x, state: ((x + b) * 3 & MASK) ^ a if x != MASK else odd_shared(x, a, b, size))
        if kind == "constant":
            content = [self.word() for _ in range(size)]
            return ("static const unsigned k[%d] = {%s}; return k[x %% %d] ^ x * %du;" % (size, ", ".join("%du" % w for w in content), size, a),
                    lambda x, state: content[x % size] ^ (x * a & MASK))
        return "return x * %du + %du;" % (a, b), lambda x, state: (x * a + b) & MASK

    # --- features -------------------------------------------------------------------------------------------------

    def several(self, n):
        """one weak function that is another one in each unit, called by each unit and by address"""
        name = "several%d" % n
        size = self.dice.randint(5, 40)  # no linker takes variables of one name with several sizes
        made = [self.body("%s.counted" % name, size=size) for _ in self.units]
        self.choices[name] = made
        text = "".join("#%s UNIT == %d\n    %s\n" % ("elif" if i else "if", i, body) for i, (body, _) in enumerate(made))
        self.shared.append("inline __device__ __noinline__ unsigned %s(unsigned x)\n{\n%s#endif\n}" % (name, text))
        self.everywhere(lambda u: "__device__ __noinline__ unsigned by%d_%d(unsigned x) { return %s(x); }" % (n, u, name))
        self.shared += ["__device__ unsigned by%d_%d(unsigned x);" % (n, u) for u in range(self.n_units)]
        kind = self.dice.choice(("__device__", "__constant__"))
        self.place("%s callee led%d = %s;" % (kind, n, name), "extern %s callee led%d;" % (kind, n))

        def value(x, state, choice):
            return made[choice[name]][1](x, state)
        for u in range(self.n_units):
            self.step("by%d_%d(x)" % (n, u), value)
        self.step("led%d(x)" % n, value)

    def alike(self, n):
        """weak functions that are one, with everything that a function can have; or a function of one unit alone that is static in the others"""
        body, value = self.body("alike%d" % n)
        how = self.dice.choice(("inline", "template <int N>"))
        use = "alike%d%s" % (n, "<3>" if how != "inline" else "")
        self.shared.append("%s __device__ __noinline__ unsigned alike%d(unsigned x) { %s }" % (how, n, body))
        for _ in range(2):
            self.step("%s(x)" % use, lambda x, state, choice: value(x, state))
        self.step("(x & 1 ? %s : %s)(x + 1)" % (use, use), lambda x, state, choice: value((x + 1) & MASK, state))

    def local(self, n):
        """functions and variables of one name that belong to each unit"""
        made = [self.body("local%d.%d" % (n, u), ("plain", "switch", "local", "shared", "constant", "counter")) for u in range(self.n_units)]
        own = [self.word() for _ in self.units]
        open_, close, linkage = self.dice.choice((("", "", "static "), ("namespace { ", " }", "")))
        kind = self.dice.choice(("__device__", "__constant__"))
        self.everywhere(lambda u: "%s%s%s unsigned own%d[3] = {%du, 7, %du};\n%s__device__ __noinline__ unsigned local%d(unsigned x) { %s }%s\n"
                        "__device__ unsigned ask%d_%d(unsigned x) { callee f = guard[1] == 99 ? nullptr : local%d; return f(x) + own%d[x %% 2 * 2] + local%d(x + 1); }"
                        % (open_, linkage, kind, n, own[u], own[u] ^ 77, linkage, n, made[u][0], close, n, u, n, n, n))
        for u in range(self.n_units):
            self.shared.append("__device__ unsigned ask%d_%d(unsigned x);" % (n, u))

            def value(x, state, choice, u=u):
                first = made[u][1](x, state)
                kept = own[u] ^ 77 if x % 2 else own[u]
                return (first + kept + made[u][1]((x + 1) & MASK, state)) & MASK
            self.step("ask%d_%d(x)" % (n, u), value)

    def variable(self, n):
        """a variable that every unit has, changed in one and read in others"""
        size = self.dice.choice((1, 3, 8))
        content = [self.word() for _ in range(size)]
        text = ", ".join("%du" % w for w in content)
        form = self.dice.choice(("inline __device__ unsigned weak%d[%d] = {%s};", "template <int N> __device__ unsigned weak%d[%d] = {%s};"))
        self.shared.append(form % (n, size, text))
        use = "weak%d<2>" % n if "template" in form else "weak%d" % n

        def change(x, state, choice):
            now = state.setdefault("weak%d" % n, list(content))
            now[x % size] = (now[x % size] + x) & MASK
            return now[(x + 1) % size]
        for _ in range(3):
            self.step("%s[(x + 1) %% %d]" % (use, size), change, "%s[x %% %d] += x;" % (use, size))

    def classes(self, n):
        """a class whose base is virtual, and one of a template, whose tables are where no unit is the home"""
        a, b, c = self.word() | 1, self.word(), self.word()
        self.shared.append(
            ("struct base# { unsigned own; __device__ base#(unsigned v) : own(v) {} __device__ virtual unsigned say(unsigned x) = 0; __device__ virtual unsigned twice(unsigned x) { return say(x) + say(x + 1); } "
             "__device__ virtual ~base#() { guard[0] += own; } };\n"
             "struct left# : virtual base# { __device__ left#(unsigned v) : base#(v) {} __device__ unsigned say(unsigned x) override { return x * %du; } __device__ virtual unsigned side(unsigned x) { return x + 1; } };\n"
             "struct right# : virtual base# { __device__ right#(unsigned v) : base#(v) {} __device__ virtual unsigned side(unsigned x) { return x + %du + own; } };\n"
             "struct both# : left#, right# { unsigned more; __device__ both#(unsigned v) : base#(v), left#(v + 5), right#(v + 6), more(v ^ %du) {} __device__ unsigned say(unsigned x) override%s };\n"
             "template <class T> struct holder# : base# { T held; __device__ holder#(unsigned v, T h) : base#(v), held(h) {} __device__ unsigned say(unsigned x) override { return x * (unsigned)sizeof(T) + (unsigned)held + own; } };\n"
             "__device__ unsigned hear#(base# *b, unsigned x);\n__device__ unsigned aside#(right# *b, unsigned x);")
            .replace("#", str(n)) % (a, b, c, "; "))
        self.place("__device__ unsigned both%d::say(unsigned x) { return left%d::say(x) + more; }" % (n, n))
        member = self.dice.random() < 0.5
        self.place("__device__ __noinline__ unsigned hear%d(base%d *b, unsigned x) { %s }" % (n, n, (
            "unsigned (base%d::*how)(unsigned) = x & 1 ? &base%d::say : &base%d::twice; return (b->*how)(x) ^ 1;" % (n, n, n)) if member else "return b->twice(x) ^ b->say(x);"))
        self.place("__device__ __noinline__ unsigned aside%d(right%d *b, unsigned x) { return b->side(x); }" % (n, n))

        def heard(say):
            def value(x):
                twice = (say(x) + say((x + 1) & MASK)) & MASK
                if member:
                    return (say(x) if x & 1 else twice) ^ 1
                return twice ^ say(x)
            return value
        v = self.word()
        both = heard(lambda x: (x * a + (v ^ c)) & MASK)

        def leave(state, own):
            state["guard"] = (state.get("guard", 0) + own) & MASK

        def one(x, state, choice):
            leave(state, v)
            return (both(x) + x + b + v) & MASK
        self.step("r", one, "both%d o(%du); unsigned r = hear%d(&o, x) + aside%d(&o, x);" % (n, v, n, n))
        held = self.dice.randrange(100)
        for t, size in (("char", 1), ("unsigned", 4), ("long long", 8)):
            def other(x, state, choice, size=size):
                leave(state, v)
                return heard(lambda y: (y * size + held + v) & MASK)(x)
            self.step("r", other, "base%d *o = new holder%d<%s>(%du, (%s)%d); unsigned r = hear%d(o, x); delete o;" % (n, n, t, v, t, held, n))
        self.step("guard[0] + x", lambda x, state, choice: (state.get("guard", 0) + x) & MASK)

    def table(self, n):
        """functions that are weak, local and strong in one table"""
        made = [self.body("entry%d.%d" % (n, i)) for i in range(3)]
        kind = self.dice.choice(("__device__", "__constant__", "__device__", "__managed__"))
        size = self.dice.randint(3, 9)
        entries = [self.dice.randrange(3) for _ in range(size)]
        self.shared.append("inline __device__ __noinline__ unsigned weak_entry%d(unsigned x) { %s }" % (n, made[0][0]))
        self.place("__device__ unsigned strong_entry%d(unsigned x) { %s }" % (n, made[1][0]), "__device__ unsigned strong_entry%d(unsigned x);" % n)
        names = ("weak_entry", "strong_entry", "local_entry")
        text = "static __device__ unsigned local_entry%d(unsigned x) { %s }\n" % (n, made[2][0])
        if kind == "__managed__":  # has no addresses of functions
            kind = "__device__ const"
        self.place(text + "%s%s callee entries%d[%d] = {%s};" % ("extern " if "const " in kind + " " and kind != "__constant__" else "", kind, n, size, ", ".join("%s%d" % (names[e], n) for e in entries)),
                   "extern %s callee entries%d[%d];" % (kind, n, size))
        for _ in range(2):
            self.step("entries%d[x %% %d](x)" % (n, size), lambda x, state, choice: made[entries[x % size]][1](x, state))

    def record(self, n):
        """pointers to text, to functions and into arrays, of every unit"""
        body, value = self.body("recorded%d" % n)
        numbers, text = [self.word() for _ in range(6)], self.dice.choice(("word", "another text", "x" * self.dice.randint(1, 60)))
        at, kind = self.dice.randrange(6), self.dice.choice(("__device__", "__constant__"))
        self.shared.append("struct record%d { const char *text; callee call; unsigned *where; const record%d *next; };" % (n, n))
        self.place("__device__ unsigned recorded%d(unsigned x) { %s }" % (n, body), "__device__ unsigned recorded%d(unsigned x);" % n)
        self.place("__device__ unsigned array%d[6] = {%s};" % (n, ", ".join("%du" % w for w in numbers)), "extern __device__ unsigned array%d[6];" % n)
        self.shared.append("extern __device__ record%d second%d;" % (n, n))
        self.place('__device__ record%d second%d = {"%s", recorded%d, &array%d[%d], nullptr};' % (n, n, text, n, n, at))
        self.place('%s record%d first%d[2] = {{"%s", nullptr, array%d, &second%d}, {"other", recorded%d, &array%d[1], nullptr}};' % (kind, n, n, text, n, n, n, n),
                   "extern %s record%d first%d[2];" % (kind, n, n))

        def follow(x, state, choice):
            return (value(x, state) + numbers[at] + ord(text[x % len(text)])) & MASK
        self.step("p->call(x) + *p->where + p->text[x %% %d]" % len(text), follow, "const record%d *p = first%d[x & guard[1]].next;" % (n, n))
        self.step("first%d[1].call(x) + first%d[1].where[1] + first%d[0].text[0]" % (n, n, n),
                  lambda x, state, choice: (value(x, state) + numbers[2] + ord(text[0])) & MASK)

    def dynamic(self, n):
        """the memory that the launch gives, under names of several types; functions that write into it in two units"""
        t = self.dice.choice(("unsigned", "int", "unsigned long long"))
        self.shared.append("extern __shared__ %s dynamic%d[];\n__device__ unsigned put%d(unsigned x);" % (t, n, n))
        self.place("__device__ __noinline__ unsigned put%d(unsigned x) { volatile %s *d = dynamic%d; d[x %% 16] = x; d[(x + 1) %% 16] = 9; return (unsigned)d[x %% 16]; }" % (n, t, n))
        self.step("put%d(x) + (unsigned)((volatile %s *)dynamic%d)[(x + 1) %% 16]" % (n, t, n), lambda x, state, choice: (x + 9) & MASK)

    def child(self, n):
        """a kernel that code launches, weak or strong"""
        a, weak = self.word() | 1, self.dice.random() < 0.5
        body, value = self.body("child%d" % n, ("plain", "switch", "local", "shared", "constant"))
        self.shared.append("inline __device__ __noinline__ unsigned helps%d(unsigned x) { %s }" % (n, body))
        kernel = "void child%d(unsigned *p, unsigned x) { *p = helps%d(x) * %du; }" % (n, n, a)
        if weak:
            self.shared.append("template <int N> __global__ " + kernel)
        else:
            self.place("__global__ " + kernel, "__global__ void child%d(unsigned *p, unsigned x);" % n)
        at = CHILDREN + len(self.children)
        self.children.append((at, lambda x: value(x, {}) * a & MASK))
        self.place("__device__ __noinline__ void start%d(unsigned *out, unsigned x) { child%d%s<<<1, 1>>>(out + %d, x); }" % (n, n, "<2>" if weak else "", at),
                   "__device__ void start%d(unsigned *out, unsigned x);" % n)
        self.starts = getattr(self, "starts", []) + ["start%d(out, number + %du);" % (n, at)]

    def kernel(self, n):
        """a kernel of a template that several units have"""
        body, value = self.body("kernel%d" % n)
        more = self.dice.randint(1, 50)
        self.shared.append("inline __device__ __noinline__ unsigned below%d(unsigned x) { %s }\n"
                           "template <int N> __global__ void kernel%d(unsigned *out, unsigned number) { __shared__ volatile unsigned s[N]; "
                           "if (threadIdx.x) return; s[number %% N] = number; out[0] = below%d(number) + s[number %% N]; out[1] = N; }" % (n, body, n, n))
        for u in self.dice.sample(range(self.n_units), self.dice.randint(1, self.n_units)):
            self.units[u].append("template __global__ void kernel%d<%d>(unsigned *, unsigned);" % (n, more))
        name = "kernel%d" % n
        self.kernels["_Z%d%sILi%dEEvPjj" % (len(name), name, more)] = lambda number: [(value(number, {}) + number) & MASK, more]

    def recursion(self, n):
        """functions of two units that call each other, one by address"""
        a = self.word()
        self.shared.append("__device__ unsigned down%d(unsigned n, callee f); __device__ unsigned up%d(unsigned n, callee f);" % (n, n))
        self.place("__device__ __noinline__ unsigned down%d(unsigned n, callee f) { return n < 2 ? f(n) : up%d(n - 1, f) * 3 + n; }" % (n, n))
        self.place("__device__ __noinline__ unsigned up%d(unsigned n, callee f) { return n < 3 ? f(n + 1) : down%d(n - 2, f) + f(n); }" % (n, n))
        self.place("__device__ __noinline__ unsigned leaf%d(unsigned x) { return x * 11 + %du; }" % (n, a), "__device__ unsigned leaf%d(unsigned x);" % n)

        def leaf(x):
            return (x * 11 + a) & MASK

        def down(x):
            return leaf(x) if x < 2 else (up(x - 1) * 3 + x) & MASK

        def up(x):
            return leaf(x + 1) if x < 3 else (down(x - 2) + leaf(x)) & MASK
        self.step("down%d(x %% 13, leaf%d)" % (n, n), lambda x, state, choice: down(x % 13))

    def passed(self, n):
        """structures by value, functions made for lambdas, and memory from the heap"""
        size = self.dice.choice((3, 17, 65))
        self.shared.append("struct large%d { unsigned a[%d]; };\n__device__ large%d fill%d(large%d l, unsigned x);\n"
                           "template <class F> __device__ __noinline__ unsigned apply%d(F f, unsigned x) { static __device__ unsigned calls; calls++; return f(x) * 5 + f(x + 1); }"
                           % (n, size, n, n, n, n))
        self.place("__device__ __noinline__ large%d fill%d(large%d l, unsigned x) { l.a[x %% %d] = x; return l; }" % (n, n, n, size))
        self.step("l.a[x %% %d] + l.a[(x + 1) %% %d]" % (size, size), lambda x, state, choice: (x + ((x + 1) % size) * 2) & MASK,
                  "large%d l; for (int i = 0; i < %d; i++) l.a[i] = i * 2; l = fill%d(l, x);" % (n, size, n))
        k = self.word()
        self.step("apply%d([=](unsigned y) { return y * 7 ^ x ^ %du; }, x)" % (n, k),
                  lambda x, state, choice: (((x * 7 & MASK) ^ x ^ k) * 5 + (((x + 1) * 7 & MASK) ^ x ^ k)) & MASK)
        self.step("r", lambda x, state, choice: (x % 9 * 3 + x) & MASK,
                  'unsigned *m = new unsigned[x %% 9 + 1]; m[x %% 9] = x %% 9 * 3; unsigned r = m[x %% 9] + x; delete[] m; if (guard[1] == 88) printf("%%u %d\\n", r);' % n)

    def managed(self, n):
        a = self.word()
        self.place("__managed__ unsigned managed%d[2] = {%du, 3};" % (n, a), "extern __managed__ unsigned managed%d[2];" % n)

        def change(x, state, choice):
            state["managed%d" % n] = (state.get("managed%d" % n, a) + x) & MASK
            return state["managed%d" % n] + 3 & MASK
        for _ in range(2):
            self.step("managed%d[0] + managed%d[1]" % (n, n), change, "managed%d[0] += x;" % n)


FEATURES = ("several", "several", "alike", "alike", "local", "local", "variable", "variable", "classes", "classes", "table", "table", "record", "dynamic",
            "kernel", "kernel", "recursion", "passed", "managed", "child")


def last(x, b, size):
    """what stays in the middle of the local array: the last i that meets it"""
    for i in range(size - 1, -1, -1):
        if (i * 7 + x & MASK) % size == size // 2:
            return (x * i & MASK) ^ b
    return 0


def odd_shared(x, a, b, size):
    s = {x % size: (x + b) & MASK}
    s[0] = a
    return (s[x % size] * 3 & MASK) ^ s[0]


def generate(seed):
    """@return a Program; the same for the same seed. Its kernels want one block of 32 threads and 256 bytes of shared memory."""
    w, d = Writer(seed), random.Random("choice %d" % seed)
    for n in range(d.randint(3, 7)):
        feature = d.choice(FEATURES)
        if feature == "several" and len(w.choices) == 2:
            continue  # each has as many results as units
        getattr(w, feature)(n)
    number, order = w.word() & 0x7FFFFFFF, list(range(len(w.steps)))
    d.shuffle(order)
    order = order[:CHILDREN]
    calls = "\n".join(["    out[%d] = step%d(number + %du);" % (i, s, i) for i, s in enumerate(order)] + ["    " + s for s in getattr(w, "starts", [])])
    w.place('extern "C" __global__ void first(unsigned *out, unsigned number)\n{\n    if (threadIdx.x) return;\n%s\n    out[%d] = 1;\n}' % (calls, len(order)))
    ends = []
    for chosen in itertools.product(*[range(w.n_units) for _ in w.choices]):
        state, choice = {}, dict(zip(w.choices, chosen))
        words = {i: w.steps[s]((number + i) & MASK, state, choice) for i, s in enumerate(order)}
        words[len(order)] = 1
        words.update((at, value((number + at) & MASK)) for at, value in w.children)
        ends.append([words.get(i) for i in range(max(words) + 1)])
    questions = {"first": ends}
    questions.update((name, [value(number)]) for name, value in w.kernels.items())
    begin = HEADER + "\n".join(w.shared)
    options = d.choice(((), (), ("-lineinfo",), ("-G",), ("-maxrregcount=40",), ("-Xptxas=-O1",)))
    texts = ["#define UNIT %d\n%s\n%s\n" % (i, begin, "\n".join(u)) for i, u in enumerate(w.units)]
    return Program(texts, options, number, bool(w.children), questions)
