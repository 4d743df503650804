import { spawnSync } from "node:child_process";
import { createSocket } from "node:dgram";
import { once } from "node:events";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";

/** Longer than any wait in a test, because a lookup that has started can't be aborted. */
const silenceSeconds = 30;

/** Whether this user may give a program its own `/etc/hosts` and `/etc/resolv.conf`. */
export const mayMount = spawnSync("unshare", ["--mount", "mount", "--bind", "/etc/hosts", "/etc/hosts"]).status === 0;

/** Suffix of a skipped test's name. */
export const whySkipped = " (skipped: this user may not mount files or open a name server's port)";

/**
 * Starts a name server that accepts queries and never responds, at a loopback address that no other test uses;
 * undefined if this user may not open such a port.
 */
export async function startSilentNameServer() {
  const address = `127.${1 + (process.pid % 250)}.${Math.floor(Math.random() * 250)}.53`;
  const questions: string[] = [];
  const socket = createSocket("udp4", (message) => questions.push(message.toString("latin1")));
  socket.unref();
  socket.bind(53, address);
  const isBound = await Promise.race([once(socket, "listening"), once(socket, "error")]).then(
    ([error]) => error === undefined,
    () => false,
  );
  if (!isBound) return undefined;
  const countAsked = (label: string) => questions.filter((one) => one.includes(label)).length;
  return {
    address,
    countAsked,
    wasAsked: (label: string) => countAsked(label) > 0,
    [Symbol.dispose]: () => void socket.close(),
  };
}

/** Returns the command prefix that makes the system query that name server, and resolve `node.test` by itself. */
export async function mountNames(folder: string, nameServer: string): Promise<readonly string[]> {
  const [resolv, hosts] = [join(folder, "resolv.conf"), join(folder, "hosts")];
  await writeFile(resolv, `nameserver ${nameServer}\noptions timeout:${silenceSeconds} attempts:1\nsearch .\n`);
  await writeFile(hosts, "127.0.0.1 localhost\n127.0.0.1 node.test\n");
  const mounts = `mount --bind ${resolv} /etc/resolv.conf && mount --bind ${hosts} /etc/hosts`;
  return ["unshare", "--mount", "sh", "-c", `${mounts} && exec "$@"`, "sh"];
}
