import { registerHooks } from "node:module";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { mutateText, mutations } from "./mutations.ts";

/** Runs the simulator on code with one fault: `mutated.main.ts <index of the mutation> <first seed> <crashes> <step>`. */
const [index, ...rest] = process.argv.slice(2);
const mutation = mutations[Number(index)];
if (mutation === undefined) throw new RangeError(`there is no mutation ${index}`);

const root = join(import.meta.dirname, "../../..");
const path = join(root, mutation.file);
let isApplied = false;
registerHooks({
  load: (url, context, nextLoad) => {
    const loaded = nextLoad(url, context);
    if (!url.startsWith("file:") || fileURLToPath(url) !== path) return loaded;
    isApplied = true;
    return { ...loaded, source: mutateText(mutation, String(loaded.source)) };
  },
});
process.argv = [...process.argv.slice(0, 2), ...rest];
await import("../simulate.main.ts");
if (!isApplied) throw new Error(`no run loads ${mutation.file}`);
