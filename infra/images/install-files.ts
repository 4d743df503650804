import { chmodSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";

const bundleName = "files.json";

/**
 * Transfers files to a service: `install-files.ts move|copy <from> <to>` installs every file from one directory into the other with mode
 * 0400, owned by the current user, and removes all other files there. Engines and clusters deliver secrets as root's files, which a
 * non-root service can't own otherwise. `move` deletes the source; `copy` is for a read-only source. A file `files.json` is expanded into
 * the files that it contains, as text by name.
 */
function install(from: string, to: string): readonly string[] {
  const found = readdirSync(from, { withFileTypes: true })
    .filter((entry) => !entry.name.startsWith(".") && !entry.isDirectory())
    .map((entry) => entry.name);
  const files: Record<string, string | Buffer> = {};
  for (const name of found) {
    const content = readFileSync(join(from, name));
    if (name === bundleName) Object.assign(files, JSON.parse(content.toString()));
    else files[name] = content;
  }
  const names = Object.keys(files);
  for (const [name, content] of Object.entries(files)) {
    const staged = join(to, `.${name}.staged`);
    rmSync(staged, { force: true });
    writeFileSync(staged, content, { mode: 0o400 });
    chmodSync(staged, 0o400);
    renameSync(staged, join(to, name));
  }
  for (const stale of readdirSync(to).filter((name) => !names.includes(name))) {
    rmSync(join(to, stale), { recursive: true });
  }
  if (how === "move") for (const name of found) rmSync(join(from, name));
  return names;
}

const [how, from, to] = process.argv.slice(2);
if ((how !== "move" && how !== "copy") || from === undefined || to === undefined) {
  process.stderr.write("usage: install-files.ts move|copy <from> <to>\n");
  process.exitCode = 2;
} else {
  const names = install(from, to);
  process.stdout.write(`installed ${names.length} files in ${to}\n`);
}
