import { Gauge, type Registry } from "prom-client";

/** A file that a service reads again as it changes: what of it is in force. */
export type FileInForce = Readonly<{
  /** The setting that names the file. */
  setting: string;
  path: string;
  /** SHA-256 of the text that is in force, in hexadecimal. */
  sha256: string;
  /** Time at which that text was read, ISO 8601. */
  readAt: string;
  /** Every problem of the text that stands there now, in whole sentences; absent if that text is in force. */
  problems?: readonly string[];
}>;

/** The files of a process that are read again as they change. */
export type FilesLoaded = Readonly<{
  /** Notes that what stood in a file holds from now on. */
  noteInForce: (file: Pick<FileInForce, "setting" | "path" | "sha256">) => void;
  /** Notes that what stands in a file now can't be used; what was read before stays in force. */
  refused: (setting: string, problems: readonly string[]) => void;
  list: () => readonly FileInForce[];
}>;

/** Keeps what is in force of each file, and reports it as `gatehouse_file_loaded`. */
export function createFilesInForce(metrics: Registry, clock: () => number = Date.now): FilesLoaded {
  const files = new Map<string, FileInForce>();
  const gauge = new Gauge({
    name: "gatehouse_file_loaded",
    help: "Files that are read again as they change: 1 while what stands there is in force, 0 while it can't be used.",
    labelNames: ["setting"],
    registers: [metrics],
  });
  return {
    noteInForce: (file) => {
      files.set(file.setting, { ...file, readAt: new Date(clock()).toISOString() });
      gauge.set({ setting: file.setting }, 1);
    },
    refused: (setting, problems) => {
      const file = files.get(setting);
      if (file === undefined) return;
      files.set(setting, { ...file, problems });
      gauge.set({ setting }, 0);
    },
    list: () => [...files.values()],
  };
}
