import { readdirSync, statSync } from "node:fs";

/** The file descriptors of this process. */
export type Descriptors = Readonly<{
  /** Most that it may have open; Infinity if nothing bounds them. Node raises its soft limit to the hard one when it starts. */
  limit: number;
  /** Counts those that are open; undefined if the system does not say. */
  used: () => number | undefined;
}>;

/** Directory in which Linux shows a process's descriptors (proc(5)). */
const shown = "/proc/self/fd";

/** Codes of a look that itself found no descriptor left. */
const exhausted: ReadonlySet<string> = new Set(["EMFILE", "ENFILE"]);

/** Returns the limit of this process's descriptors (getrlimit(2), RLIMIT_NOFILE), and a count of those open. */
export function countOwnDescriptors(): Descriptors {
  const limit = readLimit();
  return { limit, used: () => countOpen(limit) };
}

function readLimit(): number {
  // Otherwise a report waits while it looks up every peer's name.
  const report = Object.assign(process.report, { excludeNetwork: true });
  const { userLimits } = report.getReport() as { userLimits?: { open_files?: { soft?: number | string } } };
  const soft = userLimits?.open_files?.soft;
  return typeof soft === "number" ? soft : Number.POSITIVE_INFINITY;
}

function countOpen(limit: number): number | undefined {
  try {
    // Since Linux 6.2 the directory's size is their count, which takes no descriptor to read.
    return statSync(shown).size || readdirSync(shown).length;
  } catch (error) {
    return exhausted.has((error as NodeJS.ErrnoException).code ?? "") ? limit : undefined;
  }
}
