import type { Command } from "@commander-js/extra-typings";

/** Adds the options by which a command names the running sidecar that it is for. */
export function addControlOptions(command: Command) {
  return command
    .option("--state-directory <path>", "the sidecar's state directory, as its page and log name it")
    .option("--settings <file>", "JSON5 file with the sidecar's settings; environment variables win over it")
    .option("--url <url>", "the sidecar's status listener, e.g. http://10.0.0.7:9600, where upkeep.controlToken is set")
    .option("--token-file <path>", "file with that token; default: GATEHOUSE_SIDECAR_UPKEEP_CONTROL_TOKEN");
}
