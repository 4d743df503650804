import { Gauge, type Registry } from "prom-client";

/** The active content of one of a service's hot-reloaded files. */
export type ActiveFile = Readonly<{
  /** The setting that specifies the file. */
  setting: string;
  path: string;
  /** SHA-256 of the active text, in hexadecimal. */
  sha256: string;
  /** Time at which the active text was read, ISO 8601. */
  readAt: string;
  /** All problems with the file's current text, in whole sentences; absent if that text is active. */
  problems?: readonly string[];
}>;

/** The hot-reloaded files of a process. */
export type ActiveFiles = Readonly<{
  /** Records that a file's content is now active. */
  recordActive: (file: Pick<ActiveFile, "setting" | "path" | "sha256">) => void;
  /** Records that a file's current content is invalid; the previous content stays active. */
  recordRejected: (setting: string, problems: readonly string[]) => void;
  list: () => readonly ActiveFile[];
}>;

/** Describes the files whose current content is invalid; undefined if there are none. */
export function describeRejectedFiles(files: readonly ActiveFile[]): string | undefined {
  const rejected = files.flatMap(({ setting, path, readAt, problems }) =>
    problems === undefined
      ? []
      : [`${path} (${setting}) is invalid: ${problems.join(" ")} The content read at ${readAt} stays active.`],
  );
  return rejected.length === 0 ? undefined : `${rejected.join(" ")} Fix the file: it is reloaded when saved.`;
}

/** Tracks the active content of each file, and reports it as `gatehouse_file_loaded`. */
export function createActiveFiles(metrics: Registry): ActiveFiles {
  const files = new Map<string, ActiveFile>();
  const gauge = new Gauge({
    name: "gatehouse_file_loaded",
    help: "Hot-reloaded files: 1 while the current content is active, 0 while it is invalid.",
    labelNames: ["setting"],
    registers: [metrics],
  });
  return {
    recordActive: (file) => {
      files.set(file.setting, { ...file, readAt: new Date().toISOString() });
      gauge.set({ setting: file.setting }, 1);
    },
    recordRejected: (setting, problems) => {
      const file = files.get(setting);
      if (file === undefined) return;
      files.set(setting, { ...file, problems });
      gauge.set({ setting }, 0);
    },
    list: () => [...files.values()],
  };
}
