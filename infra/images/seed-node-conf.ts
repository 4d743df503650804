import { chmodSync, existsSync, mkdirSync, readFileSync, renameSync, writeFileSync } from "node:fs";
import { dirname } from "node:path";
import { applyEdits, modify, parse, type ParseError } from "jsonc-parser";

/**
 * Puts a node's first configuration where it is missing: `seed-node-conf.ts <from> <to>`. One that is there is the sidecar's: it is
 * left as it is, but for the address that the node tells to its peers, because a pod may have moved to another machine. That
 * address is in `HOST_IP`; where the variable is empty, the file's own stays.
 */
const hostIpPath = ["chain", "startup_config", "init_config", "host_ip"];

function withHostIp(text: string, address: string): string | undefined {
  const errors: ParseError[] = [];
  parse(text, errors, { allowTrailingComma: true });
  if (errors.length > 0) return undefined;
  return applyEdits(text, modify(text, hostIpPath, address, { formattingOptions: { insertSpaces: true, tabSize: 2 } }));
}

/** Whoever reads meanwhile, or after a kill, finds the old file or the new one. */
function replace(path: string, text: string): void {
  const staged = `${path}.seeded`;
  writeFileSync(staged, text);
  chmodSync(staged, 0o644);
  renameSync(staged, path);
}

function seed(from: string, to: string, address: string): string {
  const found = existsSync(to);
  const text = readFileSync(found ? to : from, "utf8");
  const wanted = address === "" ? text : withHostIp(text, address);
  if (wanted === undefined) return `${to} is there and is no JSON; left as it is for the sidecar to mend`;
  if (found && wanted === text) return `${to} is there; left as it is`;
  mkdirSync(dirname(to), { recursive: true });
  replace(to, wanted);
  return found ? `${to} is there; host_ip is now ${address}` : `seeded ${to}`;
}

const [from, to] = process.argv.slice(2);
if (from === undefined || to === undefined) {
  process.stderr.write("usage: seed-node-conf.ts <from> <to>\n");
  process.exitCode = 2;
} else {
  process.stdout.write(`${seed(from, to, process.env["HOST_IP"] ?? "")}\n`);
}
