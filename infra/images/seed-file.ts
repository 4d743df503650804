import { constants, copyFileSync, existsSync, mkdirSync } from "node:fs";
import { dirname } from "node:path";

/** Puts a file where it is missing: `seed-file.ts <from> <to>`. A file that is there already is left as it is. */
const [from, to] = process.argv.slice(2);
if (from === undefined || to === undefined) {
  process.stderr.write("usage: seed-file.ts <from> <to>\n");
  process.exitCode = 2;
} else if (existsSync(to)) {
  process.stdout.write(`${to} is there; left as it is\n`);
} else {
  mkdirSync(dirname(to), { recursive: true });
  copyFileSync(from, to, constants.COPYFILE_EXCL);
  process.stdout.write(`seeded ${to}\n`);
}
