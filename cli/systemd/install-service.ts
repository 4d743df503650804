import { spawnSync } from "node:child_process";
import { ownProgram } from "#daemon/command-line/own-command.ts";
import { SettingsError } from "#daemon/settings/problem.ts";
import { askToConfirm, type createTerminalOutput } from "../terminal.ts";
import {
  applyInstallation,
  buildPlanDocument,
  planInstallation,
  formatPlan,
  planRemoval,
  type Installation,
} from "./installation.ts";
import type { InstalledService } from "./installed-services.ts";
import { InstallError, readServiceFacts } from "./service-facts.ts";
import { formatUnitName } from "./unit.ts";

/** Options of `gatehouse install-service`. */
export type InstallOptions = Readonly<{
  service: InstalledService;
  settings?: string | undefined;
  user?: string | undefined;
  root: string;
  start: boolean;
  uninstall: boolean;
  dryRun: boolean;
  yes: boolean;
  json: boolean;
}>;

/**
 * Installs a service of systemd, or removes it: shows the plan, asks to confirm it, and carries it out. Starts nothing unless requested.
 *
 * @returns the exit status.
 */
export async function installService(
  options: InstallOptions,
  output: ReturnType<typeof createTerminalOutput>,
): Promise<number> {
  const { service, root, uninstall, dryRun, yes, json } = options;
  try {
    const plan = uninstall ? planRemoval(service, root) : planInstallation(readFacts(options), root);
    const commands = buildCommands(options, plan);
    if (json) {
      if (!dryRun && !yes) return fail(output, "--json asks nobody; say --dry-run or --yes with it.");
      if (!dryRun) applyPlan(options, plan, commands);
      return finish(output, JSON.stringify({ ...buildPlanDocument(plan), commands, isDone: !dryRun }));
    }
    const lines = [...formatPlan(plan), ...commands.map((command) => `run ${command.join(" ")}`)];
    output.out(`${lines.join("\n")}\n`);
    if (plan.steps.length + commands.length === 0) return finish(output, "Nothing is to be done.");
    if (dryRun) return finish(output, "Nothing was done (--dry-run).");
    if (!yes && !(await askToConfirm("Do that? [y/N] "))) return fail(output, "nothing was done.");
    applyPlan(options, plan, commands);
    return finish(output, uninstall ? "Removed." : suggestNext(options));
  } catch (error) {
    if (error instanceof SettingsError || error instanceof InstallError) return fail(output, error.message);
    const { code, path } = error as NodeJS.ErrnoException;
    if (code === "EACCES" || code === "EPERM")
      return fail(output, `${path} can't be written (${code}); run it as root.`);
    throw error;
  }
}

function readFacts({ service, user, settings }: InstallOptions) {
  return readServiceFacts({ service, user, settings, env: process.env, program: ownProgram });
}

type Systemctl = readonly ["systemctl", ...string[]];

/** Builds the commands for systemd; none if the root is another system's. */
function buildCommands({ service, root, start, uninstall }: InstallOptions, plan: Installation): readonly Systemctl[] {
  if (root !== "/") return [];
  if (uninstall) return plan.steps.length === 0 ? [] : [["systemctl", "disable", "--now", formatUnitName(service)]];
  if (!start) return [];
  return [
    ["systemctl", "daemon-reload"],
    ["systemctl", "enable", "--now", formatUnitName(service)],
  ];
}

/** Applies a plan and runs the commands. A unit that is removed has to be stopped first, while systemd still knows it. */
function applyPlan({ uninstall }: InstallOptions, plan: Installation, commands: readonly Systemctl[]): void {
  if (uninstall) run(commands);
  applyInstallation(plan);
  if (!uninstall) run(commands);
}

function run(commands: readonly Systemctl[]): void {
  for (const [program, ...args] of commands) {
    const { status, error } = spawnSync(program, args, { stdio: "inherit", timeout: 120_000 });
    if (status !== 0)
      throw new InstallError(`${[program, ...args].join(" ")} failed (${error?.message ?? `status ${status}`}).`);
  }
}

function suggestNext({ service, root, start }: InstallOptions): string {
  const log = `journalctl --unit ${formatUnitName(service)} --follow`;
  if (root !== "/") return `Installed under ${root}.`;
  if (start) return `Started. Its log: ${log}`;
  return `Installed, not started. To start it, now and at each boot:\n  systemctl daemon-reload\n  systemctl enable --now ${formatUnitName(service)}\n  ${log}`;
}

function finish({ out }: ReturnType<typeof createTerminalOutput>, line: string): number {
  out(`${line}\n`);
  return 0;
}

function fail({ error }: ReturnType<typeof createTerminalOutput>, line: string): number {
  error(`install-service: ${line}\n`);
  return 1;
}
