import { resolve } from "node:path";
import { formatOwnCommand } from "#daemon/command-line/own-command.ts";
import { quoteShellWord } from "#daemon/command-line/shell-word.ts";
import { listRunningServices } from "#daemon/running-services.ts";
import { readNamedText, explainUnreadable } from "#daemon/files/regular-file.ts";
import type { Mask } from "#daemon/secrets/mask.ts";
import { Secret } from "#daemon/secrets/secret.ts";
import { findUserStateDirectory } from "#daemon/files/user-state-directory.ts";
import type { ControlOptions } from "#sidecar/upkeep/control/control-options.ts";
import { findControlLocations } from "#sidecar/upkeep/control/control-locations.ts";
import { readSidecarSettings } from "./sidecar-settings.ts";

/** Environment variable that holds the token if no token file is given. */
const tokenVariable = "GATEHOUSE_SIDECAR_UPKEEP_CONTROL_TOKEN";

/**
 * Finds the sidecar that a command targets: by URL, state directory or settings. On invalid input, prints an error, sets exit status 1 and
 * returns undefined.
 */
export function findControlTarget(command: string, typed: ControlOptions, { mask }: Readonly<{ mask: Mask }>) {
  const { settings: file, stateDirectory, url, tokenFile } = typed;
  if (url !== undefined) {
    const token = readControlToken(command, tokenFile, { mask });
    return token === undefined ? undefined : ({ kind: "url", url, token, typed } as const);
  }
  if (stateDirectory !== undefined) {
    return { kind: "socket", stateDirectories: [resolve(stateDirectory)], typed } as const;
  }
  const settings = readSidecarSettings(file, { mask });
  if (settings === undefined) return undefined;
  const places = findControlLocations(settings, findUserStateDirectory(process.env));
  if (places !== undefined) return { kind: "socket", stateDirectories: places, typed } as const;
  const [only, ...others] = listRunningServices(process.env).flatMap(({ stateDirectory: place }) => place ?? []);
  if (only !== undefined && others.length === 0) return { kind: "socket", stateDirectories: [only], typed } as const;
  const commands = [only, ...others].flatMap((place) =>
    place === undefined ? [] : `\n  ${formatOwnCommand()} ${command} --state-directory ${quoteShellWord(place)}`,
  );
  fail(
    commands.length === 0
      ? `${command}: no running sidecar found for this user. Specify one with --state-directory, --settings with its settings, --url, or its GATEHOUSE_SIDECAR_NODE_WORKSPACE.`
      : `${command}: several sidecars run here; choose one:${commands.join("")}`,
  );
  return undefined;
}

/**
 * Reads the token of a sidecar's control listener from its file, else from the environment. On failure, prints an error, sets exit status 1
 * and returns undefined.
 */
function readControlToken(
  command: string,
  file: string | undefined,
  { mask }: Readonly<{ mask: Mask }>,
): string | undefined {
  const token = file === undefined ? process.env[tokenVariable] : readToken(command, file);
  if (token !== undefined) mask.hide(new Secret(token));
  if (token !== undefined && token !== "") return token;
  if (process.exitCode === undefined) fail(`${command}: --url needs the token: --token-file, or ${tokenVariable}.`);
  return undefined;
}

/** Max bytes read from a token file; no token is longer. */
const tokenBytes = 65_536;

function readToken(command: string, path: string): string | undefined {
  try {
    return readNamedText(path, tokenBytes).trim();
  } catch (error) {
    fail(`${command}: ${path} can't be read (${explainUnreadable(error)}); expected a file with the token.`);
    return undefined;
  }
}

function fail(message: string): void {
  process.stderr.write(`${message}\n`);
  process.exitCode = 1;
}
