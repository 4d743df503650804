import { execFile } from "node:child_process";
import { promisify } from "node:util";
import { listPids, readProcessFile, splitStat } from "#daemon/process/running-process.ts";
import { sendSignal } from "#daemon/process/send-signal.ts";

const run = promisify(execFile);
const psLimits = { timeout: 10_000, maxBuffer: 16_777_216 };

/** Finds the processes that were started with these arguments, by any program; throws if this machine doesn't show its processes. */
export async function findProcessesByArguments(args: readonly string[]): Promise<readonly number[]> {
  const commands = await readPrograms();
  const argumentText = ` ${args.join(" ")} `;
  return commands.flatMap(({ pid, command }) => (command.includes(argumentText) && pid !== process.pid ? [pid] : []));
}

/**
 * Kills a process with all its descendants. Pulumi starts each plugin in its own process group: a signal to Pulumi's group ends only Pulumi,
 * and its plugins would continue to create containers.
 */
export async function killTree(root: number): Promise<void> {
  const programs = await readPrograms();
  const tree = new Set([root]);
  for (let sizeBefore = 0; sizeBefore < tree.size;) {
    sizeBefore = tree.size;
    for (const { pid, parent } of programs) if (tree.has(parent)) tree.add(pid);
  }
  for (const pid of tree) {
    // Processes started since the scan are in one of these groups.
    sendSignal(-pid, "SIGKILL");
    sendSignal(pid, "SIGKILL");
  }
}

type RunningProgram = Readonly<{ pid: number; parent: number; command: string }>;

async function readPrograms(): Promise<readonly RunningProgram[]> {
  if (process.platform !== "linux") return await readProgramsByPs();
  const programs = (await listPids()).map(async (pid) => {
    const [commandLine, stat] = [await readProcessFile(pid, "cmdline"), await readProcessFile(pid, "stat")];
    return { pid, parent: Number(splitStat(stat)[1] ?? 0), command: commandLine.replaceAll("\0", " ") };
  });
  return await Promise.all(programs);
}

async function readProgramsByPs(): Promise<readonly RunningProgram[]> {
  const { stdout } = await run("ps", ["-A", "-ww", "-o", "pid=,ppid=,args="], psLimits);
  return stdout.split("\n").map((line) => {
    const [, pid, parent] = /^\s*(\d+)\s+(\d+)/.exec(line) ?? [];
    return { pid: Number(pid), parent: Number(parent), command: `${line} ` };
  });
}
