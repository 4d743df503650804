import { join, resolve } from "node:path";
import { buildExecutable } from "./build/executable.ts";

/** `npm run build:executable [-- <directory>]`: makes the single executable there, `dist-executable` unless it is named. */
const root = join(import.meta.dirname, "..");
const [, , directory = join(root, "dist-executable")] = process.argv;

await buildExecutable(root, resolve(directory));
