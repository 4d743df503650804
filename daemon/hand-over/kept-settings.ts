import { hash } from "node:crypto";
import { mkdir } from "node:fs/promises";
import { dirname, join, resolve } from "node:path";
import { replaceFile } from "../files/atomic-file.ts";
import { explainUnreadable, readRegularFile } from "../files/regular-file.ts";
import { DeadlineError, within } from "../time.ts";
import { settingsFileBytes } from "./settings-source.ts";

/** The text of the settings that a service last ran with, retained when its processes are replaced. It contains no secret, because settings files must not. */
export type StoredSettings = Readonly<{
  path: string;
  /** Undefined if no text is retained, or if it can't be read. */
  recall: () => Promise<string | undefined>;
  /** Resolves when the text is on disk. A failure is only logged. */
  remember: (text: string) => Promise<void>;
}>;

/** The owner of the settings, and the log in which read and write failures are reported. */
export type StoredSettingsOptions = Readonly<{
  service: string;
  settingsPath: string;
  userStateDirectory: string;
  warn: (message: string) => void;
}>;

/** Time limit for reading or writing the file: otherwise, a process that waits for a hanging file system could not even be stopped. */
const fileMs = 10_000;

/** Retains settings in the user's state directory, keyed by service and settings file path. */
export function keepSettings({
  service,
  settingsPath,
  userStateDirectory,
  warn,
}: StoredSettingsOptions): StoredSettings {
  const name = `${service}-${hash("sha256", resolve(settingsPath)).slice(0, 16)}.json5`;
  const path = join(userStateDirectory, "settings-in-force", name);
  const recall = async () => {
    try {
      const { bytes } = await within(`reading ${path}`, fileMs, readRegularFile(path, settingsFileBytes));
      return Buffer.from(bytes).toString("utf8");
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== "ENOENT") warn(`${path} can't be read (${explainFailure(error)})`);
      return undefined;
    }
  };
  return {
    path,
    recall,
    remember: async (text) => {
      if ((await recall()) === text) return;
      try {
        await within(`writing ${path}`, fileMs, write(path, text));
      } catch (error) {
        warn(
          `the active settings can't be saved to ${path} (${explainFailure(error)}), so ${service} could not restart while ${settingsPath} is invalid; ` +
            "make that directory writable, or set XDG_STATE_HOME to a writable one",
        );
      }
    },
  };
}

async function write(path: string, text: string): Promise<void> {
  await mkdir(dirname(path), { recursive: true, mode: 0o700 });
  await replaceFile(path, text);
}

function explainFailure(error: unknown): string {
  return error instanceof DeadlineError ? error.message : explainUnreadable(error);
}
