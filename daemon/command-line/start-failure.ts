import { DeadlineError } from "../time.ts";
import { SettingsError } from "../settings/problem.ts";
import { StartupError } from "../process/startup-error.ts";

/** Advice on operating system errors. */
const advice: Readonly<Record<string, string>> = {
  EACCES: "grant this process's user the permission, or change the path in the settings",
  EPERM: "grant this process's user the permission, or change the path in the settings",
  EROFS: "the file system is read-only: mount it read-write, or change the path in the settings",
  ENOSPC: "free space on that disk",
  EDQUOT: "free space on that disk",
  ENOENT: "create it, or correct the path in the settings",
  ENOTDIR: "expected a directory, found a file; correct the path in the settings",
  EEXIST: "expected a directory, found a file; correct the path in the settings",
  EISDIR: "expected a file, found a directory; correct the path in the settings",
  EMFILE: "raise the limit of open files (ulimit -n)",
};

/** Formats the reasons why a process failed to start or stop, one line each, for its standard error. Only an unexpected error includes a stack trace. */
export function formatFailure(error: unknown): readonly string[] {
  if (error instanceof SettingsError) return error.lines;
  if (error instanceof StartupError) return error.problems;
  if (error instanceof DeadlineError) return [`${error.message}; the process exits and drops the rest.`];
  if (error instanceof SuppressedError) return [...formatFailure(error.suppressed), ...formatFailure(error.error)];
  if (error instanceof AggregateError) return error.errors.flatMap(formatFailure);
  if (!(error instanceof Error)) return [String(error)];
  const { code = "", path, syscall } = error as NodeJS.ErrnoException;
  const known = advice[code];
  if (path !== undefined && known !== undefined) return [`can't ${syscall ?? "use"} ${path} (${code}): ${known}.`];
  return [error.stack ?? error.message];
}
