import { DeadlineError } from "../time.ts";
import { SettingsError } from "../settings/problem.ts";
import { StartupError } from "../process/startup-error.ts";

/** Advice on operating system errors. */
const advice: Readonly<Record<string, string>> = {
  EACCES: "let this process's user do that, or name another place in the settings",
  EPERM: "let this process's user do that, or name another place in the settings",
  EROFS: "the file system is read-only: mount it for writing, or name another place in the settings",
  ENOSPC: "make room on that disk",
  EDQUOT: "make room on that disk",
  ENOENT: "make it, or correct the path in the settings",
  ENOTDIR: "a file stands where a directory is wanted; correct the path in the settings",
  EEXIST: "a file stands where a directory is wanted; correct the path in the settings",
  EISDIR: "a directory stands where a file is wanted; correct the path in the settings",
  EMFILE: "raise the limit of open files (ulimit -n)",
};

/** Formats the reasons why a process failed to start or stop, one line each, for its standard error. Only an unexpected error includes a stack trace. */
export function formatFailure(error: unknown): readonly string[] {
  if (error instanceof SettingsError) return error.lines;
  if (error instanceof StartupError) return error.problems;
  if (error instanceof DeadlineError) return [`${error.message}; what was left is ended with the process.`];
  if (error instanceof SuppressedError) return [...formatFailure(error.suppressed), ...formatFailure(error.error)];
  if (error instanceof AggregateError) return error.errors.flatMap(formatFailure);
  if (!(error instanceof Error)) return [String(error)];
  const { code = "", path, syscall } = error as NodeJS.ErrnoException;
  const known = advice[code];
  if (path !== undefined && known !== undefined) return [`can't ${syscall ?? "use"} ${path} (${code}): ${known}.`];
  return [error.stack ?? error.message];
}
