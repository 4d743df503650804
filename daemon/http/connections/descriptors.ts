import { readdirSync, statSync } from "node:fs";

export type Descriptors = Readonly<{
  /** Max open descriptors; Infinity if unlimited. Node raises its soft limit to the hard one at startup. */
  limit: number;
  /** Counts the open descriptors; undefined if the system doesn't report them. */
  used: () => number | undefined;
}>;

/** Directory in which Linux lists a process's descriptors (proc(5)). */
const descriptorDirectory = "/proc/self/fd";

/** Error codes that mean that the check itself could not get a descriptor. */
const exhaustedCodes: ReadonlySet<string> = new Set(["EMFILE", "ENFILE"]);

/** Returns this process's descriptor limit (getrlimit(2), RLIMIT_NOFILE), and a function that counts open descriptors. */
export function countOwnDescriptors(): Descriptors {
  const limit = readLimit();
  return { limit, used: () => countOpenDescriptors(limit) };
}

function readLimit(): number {
  // Without this option, the report blocks while it resolves every peer's name.
  const report = Object.assign(process.report, { excludeNetwork: true });
  const { userLimits } = report.getReport() as { userLimits?: { open_files?: { soft?: number | string } } };
  const soft = userLimits?.open_files?.soft;
  return typeof soft === "number" ? soft : Number.POSITIVE_INFINITY;
}

function countOpenDescriptors(limit: number): number | undefined {
  try {
    // Since Linux 6.2, the directory's size is the count, and reading it takes no descriptor.
    return statSync(descriptorDirectory).size || readdirSync(descriptorDirectory).length;
  } catch (error) {
    return exhaustedCodes.has((error as NodeJS.ErrnoException).code ?? "") ? limit : undefined;
  }
}
