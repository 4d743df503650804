import { chmodSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";

/**
 * Hands a service its files: `install-files.ts move|copy <from> <to>` puts every file of one directory into the other, mode 0400
 * and owned by the user that runs it, and removes what else is there. Engines and clusters deliver secrets as files of root; a
 * service that is not root can't be their owner otherwise. `move` leaves nothing behind, `copy` suits a read-only source.
 */
function install(from: string, to: string): readonly string[] {
  const names = readdirSync(from, { withFileTypes: true })
    .filter((entry) => !entry.name.startsWith(".") && !entry.isDirectory())
    .map((entry) => entry.name);
  for (const name of names) {
    const staged = join(to, `.${name}.staged`);
    rmSync(staged, { force: true });
    writeFileSync(staged, readFileSync(join(from, name)), { mode: 0o400 });
    chmodSync(staged, 0o400);
    renameSync(staged, join(to, name));
  }
  for (const stale of readdirSync(to).filter((name) => !names.includes(name))) {
    rmSync(join(to, stale), { recursive: true });
  }
  return names;
}

const [how, from, to] = process.argv.slice(2);
if ((how !== "move" && how !== "copy") || from === undefined || to === undefined) {
  process.stderr.write("usage: install-files.ts move|copy <from> <to>\n");
  process.exitCode = 2;
} else {
  const names = install(from, to);
  if (how === "move") for (const name of names) rmSync(join(from, name));
  process.stdout.write(`installed ${names.length} files in ${to}\n`);
}
