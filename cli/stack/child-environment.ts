import { readFileSync } from "node:fs";
import { splitStat } from "#daemon/process/running-process.ts";

export type Variables = Readonly<Record<string, string | undefined>>;

/** A secret that the user sets as `NAME` replaces the stack's `NAME_FILE`: a service accepts only one of the two. */
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

/** A watch that aborts `gone` once the process that started this process has exited. */
export type LauncherWatch = Disposable & Readonly<{ gone: AbortSignal }>;

const intervalMs = 250;

/** Shells that package managers use to run scripts; one may sit between the package manager and this process. */
const shells: ReadonlySet<string> = new Set(["sh", "dash", "bash", "ash", "busybox", "zsh"]);

/**
 * Watches the package manager that runs this process as a script (`npm start`). A package manager killed with kill -9 can't notify its children,
 * so the stack would keep running without a terminal. Watches no other parent: a shell may exit before the processes that it started.
 */
export function watchLauncher(env: Variables): LauncherWatch {
  const gone = new AbortController();
  if (env["npm_lifecycle_event"] === undefined) return { gone: gone.signal, [Symbol.dispose]: () => undefined };
  const launchersBefore = readLaunchers();
  const timer = setInterval(() => {
    if (readLaunchers() !== launchersBefore) gone.abort("the parent of this script exited");
  }, intervalMs).unref();
  return { gone: gone.signal, [Symbol.dispose]: () => clearInterval(timer) };
}

/** Reads the id of this process's parent and, if that is a shell, of its grandparent. Without Linux's /proc, reads only the parent's id. */
function readLaunchers(): string {
  try {
    // proc(5): pid (comm) state ppid …; the name in brackets may contain anything.
    const stat = readFileSync(`/proc/${process.ppid}/stat`, "utf8");
    const name = stat.slice(stat.indexOf("(") + 1, stat.lastIndexOf(")"));
    return shells.has(name) ? `${process.ppid} ${splitStat(stat)[1]}` : String(process.ppid);
  } catch {
    return String(process.ppid);
  }
}
