import { quoteShellWord } from "#daemon/command-line/shell-word.ts";

/** Options that select a command's sidecar: by its URL, or else its state directory, or else its settings. */
export type ControlOptions = Readonly<{
  settings?: string | undefined;
  stateDirectory?: string | undefined;
  url?: string | undefined;
  tokenFile?: string | undefined;
}>;

/**
 * Formats the options with which a command in a message selects the same sidecar, each with a leading space. Omits the token and the URL's
 * credentials.
 *
 * @example
 * repeatOptions({ stateDirectory: "/data/node/.gatehouse" }); // " --state-directory /data/node/.gatehouse"
 * repeatOptions({}); // ""
 */
export function repeatOptions({ settings, stateDirectory, url, tokenFile }: ControlOptions): string {
  const named =
    url === undefined
      ? stateDirectory === undefined
        ? { "--settings": settings }
        : { "--state-directory": stateDirectory }
      : { "--url": URL.parse(url)?.origin, "--token-file": tokenFile };
  return Object.entries(named)
    .map(([option, value]) => (value === undefined ? "" : ` ${option} ${quoteShellWord(value)}`))
    .join("");
}
