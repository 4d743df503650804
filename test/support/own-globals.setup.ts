/** Where the first file of a process finds what Node defines, for the others. */
const key = Symbol.for("gatehouse.own-globals");
const shared = globalThis as typeof globalThis & { [key]?: Pick<typeof globalThis, "Request" | "Response"> };

// Hono's server puts its own in place of these, in the whole process: the next file of tests starts with Node's.
shared[key] ??= { Request, Response };
Object.assign(globalThis, shared[key]);
