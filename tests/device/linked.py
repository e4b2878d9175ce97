# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Programs of several units that know what they compute: generate(seed) gives CUDA sources and the words that kernel `first` writes.

What a linker can get wrong is what they are made of: calls, pointers to functions, tables of them and virtual functions across units,
pointers to variables in data and in constants, variables of templates and inline functions that each unit has, arrays in shared memory
of callees, recursion, divisions that are calls of the compiler's own. All of it is unsigned arithmetic of 32 bits, which is done here
as well while the text is written: no linker is asked what is right.
"""
import collections
import random

MASK = 0xFFFFFFFF
FUNCTIONS, VARIABLES, CLASSES, TEMPLATES = 12, 10, 3, 4

Program = collections.namedtuple("Program", "units options number words")

HEADER = """typedef unsigned (*callee)(unsigned);
struct base {
    unsigned own;
    __device__ base(unsigned value) : own(value) {}
    __device__ virtual unsigned say(unsigned x) { return x + own; }
    __device__ virtual unsigned twice(unsigned x) { return 2 * say(x); }
};
template <int N> __device__ unsigned held = 77 * N + 5;
template <int N> __device__ __noinline__ unsigned mixed(unsigned x) { return x * (2 * N + 1) + held<N>; }
inline __device__ __noinline__ unsigned climb(unsigned n) { return n < 2 ? n + 1 : 3 * climb(n - 1) + climb(n - 2); }
"""


def climb(n):
    return n + 1 if n < 2 else 3 * climb(n - 1) + climb(n - 2)


class Writer:
    def __init__(self, seed):
        self.dice = random.Random(seed)
        self.n_units = self.dice.randint(2, 5)
        self.units = [[] for _ in range(self.n_units)]
        self.shared = []  # declarations that every unit begins with
        self.functions = []  # what each computes
        self.values, self.pointers, self.tables, self.classes = [], [], [], []

    def place(self, text, declaration=None):
        self.units[self.dice.randrange(self.n_units)].append(text)
        if declaration:
            self.shared.append(declaration)

    def word(self):
        return self.dice.choice((self.dice.randrange(16), self.dice.getrandbits(32)))

    def variable(self, number):
        """an array in global or constant memory, or one of zeros"""
        size, kind = self.dice.choice((1, 2, 3, 8, 33)), self.dice.choice(("__device__", "__device__", "__constant__"))
        content = [0] * size if self.dice.random() < 0.2 else [self.word() for _ in range(size)]
        name = "v%d" % number
        known = " = {%s}" % ", ".join("%du" % w for w in content) if any(content) else ""
        self.place("%s unsigned %s[%d]%s;" % (kind, name, size, known), "extern %s unsigned %s[%d];" % (kind, name, size))
        self.values.append((name, content, kind))

    def pointer(self, number):
        """a variable, or a constant, that holds a place in a variable"""
        there = [v for v in self.values if v[2] == "__device__"]
        if not there:
            return
        name, content, _ = self.dice.choice(there)
        at, kind = self.dice.randrange(len(content)), self.dice.choice(("__device__", "__constant__"))
        self.place("%s unsigned *p%d = &%s[%d];" % (kind, number, name, at), "extern %s unsigned *p%d;" % (kind, number))
        self.pointers.append(("p%d" % number, content[at]))

    def table(self, number):
        """functions that are there already, in global or constant memory"""
        entries = [self.dice.randrange(len(self.functions)) for _ in range(self.dice.randint(1, 4))]
        kind = self.dice.choice(("__device__", "__constant__"))
        self.place("%s callee t%d[%d] = {%s};" % (kind, number, len(entries), ", ".join("f%d" % e for e in entries)),
                   "extern %s callee t%d[%d];" % (kind, number, len(entries)))
        self.tables.append(("t%d" % number, entries))

    def kind(self, number):
        """a class whose methods one unit has, or all of them"""
        factor, add = self.word() | 1, self.word()
        name, inside = "kind%d" % number, self.dice.random() < 0.5
        head = "struct %s : base { __device__ %s(unsigned value) : base(value) {} __device__ unsigned say(unsigned x) override" % (name, name)
        body = "{ return x * %du + own + %du; }" % (factor, add)
        self.shared.append(head + (" %s };" % body if inside else "; };"))
        if not inside:
            self.place("__device__ unsigned %s::say(unsigned x) %s" % (name, body))
        self.place("__device__ __noinline__ unsigned use%d(base *which, unsigned x) { return which->twice(x) ^ which->say(x + 1); }" % number,
                   "__device__ unsigned use%d(base *which, unsigned x);" % number)

        def say(own, x):
            return (x * factor + own + add) & MASK
        self.classes.append((name, lambda own, x: (2 * say(own, x) & MASK) ^ say(own, (x + 1) & MASK)))

    def term(self, lines, number):
        """(text, what it is for an x)"""
        d = self.dice
        kinds = ["variable", "pointer", "template", "divide", "shared", "climb", "class"] + ["call", "call", "table"] * bool(self.functions)
        kind = d.choice(kinds)
        if kind == "variable" or (kind == "pointer" and not self.pointers):
            name, content, _ = d.choice(self.values)
            return "%s[x %% %d]" % (name, len(content)), lambda x: content[x % len(content)]
        if kind == "pointer":
            name, value = d.choice(self.pointers)
            return "*%s" % name, lambda x: value
        if kind == "template":
            n = d.randrange(1, TEMPLATES)
            return "mixed<%d>(x)" % n, lambda x: (x * (2 * n + 1) + 77 * n + 5) & MASK
        if kind == "divide":
            a = d.getrandbits(60)
            return "(unsigned)(%dull / (((unsigned long long)x << 7) | 3))" % a, lambda x: a // ((x << 7) | 3) & MASK
        if kind == "climb":
            return "climb(x %% %d)" % 5, lambda x: climb(x % 5) & MASK
        if kind == "shared":
            # all threads of the block come here with one x
            k, name = d.randrange(32), "s%d" % len(lines)
            lines += ["    __shared__ unsigned %s[%d];" % (name, d.choice((32, 40, 64))), "    __syncthreads();",
                      "    %s[threadIdx.x & 31] = x + (threadIdx.x & 31);" % name, "    __syncthreads();"]
            return "%s[%d]" % (name, k), lambda x: (x + k) & MASK
        if kind == "class":
            which, own = d.randrange(len(self.classes)), self.word()
            name, use = self.classes[which]
            other = d.randrange(len(self.classes))
            lines.append("    %s o%d(%du);" % (name, len(lines), own))
            return "use%d(&o%d, x)" % (other, len(lines) - 1), lambda x: use(own, x)
        if kind == "call":
            which, k = d.randrange(max(0, number - 4), number), self.word()
            return "f%d(x ^ %du)" % (which, k), lambda x: self.functions[which](x ^ k)
        if not self.tables:
            return "x", lambda x: x
        name, entries = d.choice(self.tables)
        k = self.word()
        return "%s[x %% %d](x + %du)" % (name, len(entries), k), lambda x: self.functions[entries[x % len(entries)]]((x + k) & MASK)

    def function(self, number):
        lines, terms = [], []
        for _ in range(self.dice.randint(2, 4)):
            text, value = self.term(lines, number)
            terms.append((self.word() | 1, self.dice.choice("+^"), text, value))
        lines.append("    unsigned r = x;")
        lines += ["    r = r * %du %s (%s);" % t[:3] for t in terms]
        self.place("__device__ __noinline__ unsigned f%d(unsigned x)\n{\n%s\n    return r;\n}" % (number, "\n".join(lines)),
                   "__device__ unsigned f%d(unsigned x);" % number)

        def value(x):
            r = x
            for factor, how, _, term in terms:
                r = (r * factor + term(x) if how == "+" else r * factor & MASK ^ term(x)) & MASK
            return r
        self.functions.append(value)


def generate(seed):
    """@return a Program; the same for the same seed. Kernel `first(out, number)` wants one block of 32 threads."""
    w = Writer(seed)
    for i in range(VARIABLES):
        w.variable(i)
    for i in range(VARIABLES // 2):
        w.pointer(i)
    for i in range(CLASSES):
        w.kind(i)
    for i in range(FUNCTIONS):
        w.function(i)
        if i % 4 == 3:
            w.table(i)
    number = w.word()
    calls = "\n".join("    r[%d] = f%d(number + %du);" % (i, i, i) for i in range(FUNCTIONS))
    copy = "    if (threadIdx.x == 0)\n        for (int i = 0; i < %d; i++) out[i] = r[i];" % FUNCTIONS
    kernel = 'extern "C" __global__ void %s(unsigned *out, unsigned number)\n{\n    unsigned r[%d];\n%s\n%s\n}'
    w.place(kernel % ("first", FUNCTIONS, calls, copy))
    w.place('extern "C" __global__ void other(unsigned *out) { out[threadIdx.x] = climb(out[0]) + mixed<%d>(out[1]); }' % (TEMPLATES - 1))
    begin = HEADER + "\n".join(w.shared)
    options = w.dice.choice(((), (), ("-lineinfo",), ("-G",), ("-maxrregcount=32",), ("-Xptxas=-O1",)))
    words = [f((number + i) & MASK) for i, f in enumerate(w.functions)]
    return Program([begin + "\n" + "\n".join(u) + "\n" for u in w.units], options, number, words)
