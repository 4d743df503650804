import { maskUncaughtErrors } from "#daemon/end-process.ts";
import { createMask } from "#daemon/mask.ts";
import { createProgram } from "./program.ts";

/** What this process may not show, whichever command it is. */
const mask = createMask();
maskUncaughtErrors(mask);
await createProgram({ mask }).parseAsync();
