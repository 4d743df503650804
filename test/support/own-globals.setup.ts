/** Key under which a process's first test file stores Node's own globals for the others. */
const key = Symbol.for("gatehouse.own-globals");
const shared = globalThis as typeof globalThis & { [key]?: Pick<typeof globalThis, "Request" | "Response"> };

// Hono's server replaces these in the whole process: the next test file starts with Node's.
shared[key] ??= { Request, Response };
Object.assign(globalThis, shared[key]);
