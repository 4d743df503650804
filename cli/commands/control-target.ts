import { resolve } from "node:path";
import { formatOwnCommand } from "#daemon/command-line/own-command.ts";
import { quoteShellWord } from "#daemon/command-line/shell-word.ts";
import { listRunningServices } from "#daemon/running-services.ts";
import { readNamedText, explainUnreadable } from "#daemon/files/regular-file.ts";
import type { Mask } from "#daemon/secrets/mask.ts";
import { Secret } from "#daemon/secrets/secret.ts";
import { findUserStateDirectory } from "#daemon/files/user-state-directory.ts";
import { readSettings } from "#daemon/settings/settings.ts";
import { SettingsError } from "#daemon/settings/problem.ts";
import type { ControlOptions } from "#sidecar/upkeep/control/control-options.ts";
import { findControlLocations } from "#sidecar/upkeep/state/state-location.ts";
import { sidecarSettings, type SidecarSettings } from "#sidecar/settings.ts";

const tokenVariable = "GATEHOUSE_SIDECAR_UPKEEP_CONTROL_TOKEN";

/** Max bytes read from a token file; no token is longer. */
const tokenBytes = 65_536;

/** On invalid input, prints an error, sets exit status 1 and returns undefined. */
export function findControlTarget(command: string, options: ControlOptions, { mask }: Readonly<{ mask: Mask }>) {
  const { settings: file, stateDirectory, url, tokenFile } = options;
  if (url !== undefined) {
    const token = readControlToken(command, tokenFile);
    if (token === undefined) return undefined;
    mask.hide(new Secret(token));
    return { kind: "url", url, token, options } as const;
  }
  if (stateDirectory !== undefined) {
    return { kind: "socket", stateDirectories: [resolve(stateDirectory)], options } as const;
  }
  const settings = readSidecarSettings(file, { mask });
  if (settings === undefined) return undefined;
  const locations = locateSidecar(settings);
  if (locations !== undefined) return { kind: "socket", stateDirectories: locations, options } as const;
  const found = listRunningServices(process.env).flatMap(({ stateDirectory: place }) => place ?? []);
  if (found.length === 1) return { kind: "socket", stateDirectories: found, options } as const;
  const commands = found.map((place) => {
    return `\n  ${formatOwnCommand()} ${command} --state-directory ${quoteShellWord(place)}`;
  });
  return fail(
    commands.length === 0
      ? `${command}: no running sidecar found for this user. Specify one with --state-directory, --settings with its settings, --url, or its GATEHOUSE_SIDECAR_NODE_WORKSPACE.`
      : `${command}: several sidecars run here; choose one:${commands.join("")}`,
  );
}

/** Lists the state directories that a sidecar with these settings may use; undefined if they don't specify its node. */
export function locateSidecar(settings: Parameters<typeof findControlLocations>[0]) {
  return findControlLocations(settings, findUserStateDirectory(process.env));
}

/** Reads the sidecar's settings for a command that runs next to it. On errors, prints them, sets exit status 1 and returns undefined. */
export function readSidecarSettings(
  file: string | undefined,
  { mask }: Readonly<{ mask: Mask }>,
): SidecarSettings | undefined {
  try {
    const settings = readSettings(sidecarSettings, { env: process.env, file });
    mask.hide(settings);
    return settings;
  } catch (error) {
    if (error instanceof SettingsError) return fail(error.message);
    throw error;
  }
}

/** Reads the token of a sidecar's control listener from its file, else from the environment. */
function readControlToken(command: string, file: string | undefined): string | undefined {
  try {
    const token = file === undefined ? process.env[tokenVariable] : readNamedText(file, tokenBytes).trim();
    return token || fail(`${command}: --url needs the token: --token-file, or ${tokenVariable}.`);
  } catch (error) {
    return fail(`${command}: ${file} can't be read (${explainUnreadable(error)}); expected a file with the token.`);
  }
}

function fail(message: string): undefined {
  process.stderr.write(`${message}\n`);
  process.exitCode = 1;
}
