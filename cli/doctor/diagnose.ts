import { exitStatus, type CommandOutput } from "#daemon/command-line/command-output.ts";
import type { Mask } from "#daemon/secrets/mask.ts";
import { inspectService, type InspectedService } from "./answers.ts";
import { writeBundle } from "./bundle.ts";
import { checks } from "./checks/all.ts";
import type { Diagnosis } from "./check.ts";
import { findDrift } from "./drift.ts";
import { findServices, type NamedServices } from "./find-services.ts";
import { formatFindings, toExitStatus, type Finding } from "./finding.ts";
import { readStackLogs } from "../stack/state-directory.ts";
import { readStackOutputs } from "./stack-outputs.ts";

type Printing = Readonly<{ json: boolean }>;
type Dependencies = CommandOutput & Readonly<{ mask: Mask; clock: () => number }>;

/** Input of `gatehouse doctor --drift`. */
export type DriftOptions = Printing & Readonly<{ outputs: string; urls: Readonly<Record<string, string>> }>;

/** Compares a stack's running services with their deployed configuration, prints the findings, and returns the exit status. */
export async function diagnoseDrift({ outputs, urls, json }: DriftOptions, output: CommandOutput): Promise<number> {
  let findings: readonly Finding[];
  try {
    findings = await findDrift(readStackOutputs(outputs, urls));
  } catch (problem) {
    output.error(`doctor: ${(problem as Error).message}\n`);
    return exitStatus.error;
  }
  return printFindings(findings, { json }, output);
}

/** Input of `gatehouse doctor`. */
export type DiagnoseOptions = Printing &
  NamedServices &
  Readonly<{
    /** Path of a bundle for a bug report; undefined to write none. */
    bundle: string | undefined;
    /** Log files for the bundle, in addition to those of a local stack. */
    logs: readonly string[];
  }>;

/** Runs all checks, prints the findings, writes the bundle, and returns the exit status. */
export async function diagnose(options: DiagnoseOptions, dependencies: Dependencies): Promise<number> {
  const { mask } = dependencies;
  const { bundle, json, logs, stateDirectory } = options;
  const known = findServices(options, { mask });
  const services = await Promise.all(known.map(inspectService));
  const findings = await runChecks({ services });
  const status = printFindings(findings, { json }, dependencies);
  if (bundle === undefined) return status;
  const ofStack = services.some(({ source }) => source.startsWith("the stack in "))
    ? await readStackLogs(stateDirectory)
    : [];
  return Math.max(status, await saveBundle(bundle, { services, findings, logs: [...ofStack, ...logs] }, dependencies));
}

async function runChecks(diagnosis: Diagnosis): Promise<readonly Finding[]> {
  const found = await Promise.all(
    Object.entries(checks).map(async ([name, check]) => {
      try {
        return await check(diagnosis);
      } catch (error) {
        // A failing check is reported as such and does not hide the others.
        return [
          { check: name, subject: "doctor", state: "unknown", message: `the check failed: ${String(error)}` } as const,
        ];
      }
    }),
  );
  return found.flat();
}

type Bundled = Readonly<{
  services: readonly InspectedService[];
  findings: readonly Finding[];
  logs: readonly string[];
}>;

async function saveBundle(
  path: string,
  content: Bundled,
  { mask, clock, error: print }: Dependencies,
): Promise<number> {
  try {
    await writeBundle(path, { ...content, clock, mask });
    print(
      `doctor: ${path} was written, with secrets and anything like them removed; review it before you publish it.\n`,
    );
    return exitStatus.clean;
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    const advice =
      code === "EEXIST"
        ? "it already exists; specify another file"
        : `it can't be written (${code ?? String(error)}); specify a writable path`;
    print(`doctor: --bundle ${path}: ${advice}.\n`);
    return exitStatus.error;
  }
}

function printFindings(findings: readonly Finding[], { json }: Printing, { out }: CommandOutput): number {
  out(json ? `${JSON.stringify({ findings }, undefined, 2)}\n` : formatFindings(findings));
  return toExitStatus(findings);
}
