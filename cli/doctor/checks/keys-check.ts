import { stat } from "node:fs/promises";
import { quoteShellWord } from "#daemon/command-line/shell-word.ts";
import { createFindings, type Check } from "../check.ts";
import type { Finding } from "../finding.ts";
import type { GivenSecret } from "../known-service.ts";

const createFinding = createFindings("keys");

/** Permission bits for users who are neither the owner nor in the group. */
const othersMode = 0o007;

/** Reports the secrets given to each service, and whether other users can read their files. The settings check reports missing ones. */
export const keysCheck: Check = async ({ services }) => {
  const found = await Promise.all(
    services.map(async ({ service, settings }) => {
      if (settings === undefined || !settings.ok) return [];
      if (settings.secrets.length === 0) return [createFinding(service, "right", "needs no secrets")];
      return Promise.all(settings.secrets.map((secret) => checkKey(service, secret)));
    }),
  );
  return found.flat();
};

async function checkKey(service: string, { setting, variable, file }: GivenSecret): Promise<Finding> {
  if (file === undefined) return createFinding(service, "right", `${setting} is set by the variable ${variable}`);
  try {
    const { mode } = await stat(file);
    if ((mode & othersMode) === 0)
      return createFinding(service, "right", `${setting} is in ${file}, which other users can't read`);
    return createFinding(
      service,
      "wrong",
      `${setting} is in ${file}, which every user of this machine can read or change; run \`chmod o= ${quoteShellWord(file)}\``,
    );
  } catch (error) {
    const code = (error as NodeJS.ErrnoException).code ?? "unknown";
    return createFinding(service, "unknown", `${setting} is in ${file}, whose mode can't be read (${code})`);
  }
}
