import { readFileSync } from "node:fs";

/** Environment variables by name. */
export type Variables = Readonly<Record<string, string | undefined>>;

/**
 * The environment of a child: what the embedded stack sets, with the person's own variables over it. A secret that the person
 * gives by `NAME` takes the place of the stack's `NAME_FILE`, because a service takes one of the two only.
 */
export function buildChildEnvironment(
  defaults: Readonly<Record<string, string>>,
  own: Variables,
): Record<string, string> {
  const kept = Object.entries(defaults).filter(([name]) => !own[name.replace(/_FILE$/, "")]);
  const given = Object.entries(own).filter(
    (entry): entry is [string, string] => entry[1] !== undefined && entry[1] !== "",
  );
  return { ...Object.fromEntries(kept), ...Object.fromEntries(given) };
}

/** Whether what started this process is still there. */
export type LauncherWatch = Disposable & Readonly<{ gone: AbortSignal }>;

const intervalMs = 250;

/** Shells that a package manager runs its scripts with; one of them may stand between it and this process. */
const shells: ReadonlySet<string> = new Set(["sh", "dash", "bash", "ash", "busybox", "zsh"]);

/**
 * Watches the package manager that runs this process as a script (`npm start`): one that is killed with -9 notifies nobody, and the stack
 * would run on without a terminal. Started by anything else, nothing is watched: a shell may end before what it started.
 */
export function watchLauncher(env: Variables): LauncherWatch {
  const gone = new AbortController();
  if (env["npm_lifecycle_event"] === undefined) return { gone: gone.signal, [Symbol.dispose]: () => undefined };
  const before = launchers();
  const timer = setInterval(() => {
    if (launchers() !== before) gone.abort("what ran this script is gone");
  }, intervalMs).unref();
  return { gone: gone.signal, [Symbol.dispose]: () => clearInterval(timer) };
}

/** This process's parent, and where that is a shell its parent, too; without Linux's /proc the parent alone. */
function launchers(): string {
  try {
    // proc(5): pid (comm) state ppid …; the name in brackets may hold anything.
    const stat = readFileSync(`/proc/${process.ppid}/stat`, "utf8");
    const name = stat.slice(stat.indexOf("(") + 1, stat.lastIndexOf(")"));
    const parent = stat.slice(stat.lastIndexOf(")") + 2).split(" ")[1];
    return shells.has(name) ? `${process.ppid} ${parent}` : String(process.ppid);
  } catch {
    return String(process.ppid);
  }
}
