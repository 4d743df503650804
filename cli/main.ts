import { maskUncaughtErrors } from "#daemon/process/end-process.ts";
import { createMask } from "#daemon/secrets/mask.ts";
import { createProgram } from "./program.ts";

/** Secrets that this process may not show, whichever command it is. */
const mask = createMask();
maskUncaughtErrors(mask);
await createProgram({ mask }).parseAsync();
