import { stat } from "node:fs/promises";
import { quoteShellWord } from "#daemon/command-line/shell-word.ts";
import { createFindings, type Check } from "../check.ts";
import type { Finding } from "../finding.ts";
import type { GivenSecret } from "../known-service.ts";

const look = createFindings("keys");

/** Readable, writable or executable by users who are neither the owner nor of the group. */
const othersMode = 0o007;

/** Which secrets each service was given, and whether others can read their files. A missing one that it needs is a problem of its settings. */
export const keysCheck: Check = async ({ services }) => {
  const found = await Promise.all(
    services.map(async ({ service, settings }) => {
      if (settings === undefined || !settings.ok) return [];
      if (settings.secrets.length === 0) return [look(service, "right", "needs none, and was given none")];
      return Promise.all(settings.secrets.map((secret) => checkKey(service, secret)));
    }),
  );
  return found.flat();
};

async function checkKey(service: string, { setting, variable, file }: GivenSecret): Promise<Finding> {
  if (file === undefined) return look(service, "right", `${setting} is given by the variable ${variable}`);
  try {
    const { mode } = await stat(file);
    if ((mode & othersMode) === 0)
      return look(service, "right", `${setting} is given by ${file}, which others can't read`);
    return look(
      service,
      "wrong",
      `${setting} stands in ${file}, which every user of this machine can read or change; \`chmod o= ${quoteShellWord(file)}\``,
    );
  } catch (error) {
    const code = (error as NodeJS.ErrnoException).code ?? "unknown";
    return look(service, "unknown", `${setting} is given by ${file}, whose mode can't be seen (${code})`);
  }
}
