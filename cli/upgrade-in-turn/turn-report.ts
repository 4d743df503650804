import { exitStatus, type CommandOutput } from "#daemon/command-line/command-output.ts";
import type { MemberEnd, MemberLook } from "./member.ts";

/** State of one of several nodes when the command ends. */
export type MemberState = Readonly<{
  name: string;
  state: MemberEnd["kind"] | Exclude<MemberLook["kind"], "has-version"> | "left-out" | "not-begun";
  words: string;
  document?: object | undefined;
}>;

/** Commands with which a person resumes the upgrade. */
export type TurnCommands = Readonly<{
  /** The same command again, which leaves out nodes that are done. */
  again: string;
  /** Formats the command for only these nodes. */
  only: (names: readonly string[]) => string;
}>;

/** Report on several nodes; methods that end the command return its exit status. */
export type TurnReport = Readonly<{
  /** Reports the current step to a person. */
  say: (text: string) => void;
  showLook: (name: string, look: MemberLook) => void;
  /** Ends before any upgrade is begun, because these nodes can't be upgraded. */
  refuse: (states: readonly MemberState[], names: readonly string[]) => number;
  /** Ends before any upgrade is begun, as requested. */
  endShown: (states: readonly MemberState[], status: number) => number;
  endProved: (states: readonly MemberState[]) => number;
  /** Ends before the remaining upgrades are begun. */
  stop: (states: readonly MemberState[], why: string) => number;
}>;

type Result = "shown" | "refused" | "proved" | "stopped";

/** Creates a report for a person, or the one JSON document for a program. */
export function createTurnReport(
  { commands, isJson }: Readonly<{ commands: TurnCommands; isJson: boolean }>,
  output: CommandOutput,
): TurnReport {
  const say = isJson ? output.error : output.out;
  const print = (result: Result, states: readonly MemberState[], message?: string) => {
    const nodes = states.map(({ name, state, words, document }) => ({ name, state, message: words, ...document }));
    const why = message === undefined ? {} : { message };
    if (isJson) output.out(`${JSON.stringify({ result, ...why, nodes })}\n`);
  };
  return {
    say,
    showLook: (name, look) => {
      if (!isJson) say(formatLook(name, look));
    },
    refuse: (states, names) => {
      const why = `${names.join(", ")} can't be upgraded now`;
      print("refused", states, why);
      const nothing = states.some(({ state }) => state === "proved") ? "no other upgrade" : "no upgrade";
      output.error(`upgrade: ${why}, for the reasons above; ${nothing} was begun. Fix that, or leave them out.\n`);
      return exitStatus.error;
    },
    endShown: (states, status) => {
      print("shown", states);
      return status;
    },
    endProved: (states) => {
      print("proved", states);
      if (!isJson) say(`All of them have the new version:\n${formatStates(states)}`);
      return exitStatus.clean;
    },
    stop: (states, why) => {
      print("stopped", states, why);
      output.error(formatStop(states, why, commands));
      return exitStatus.error;
    },
  };
}

/** Describes a look for the report. Pure. */
export function describeLook(name: string, look: MemberLook): MemberState {
  switch (look.kind) {
    case "ready":
      return { name, state: "ready", words: "it can be upgraded", document: look.document };
    case "has-version":
      return { name, state: "left-out", words: `left out: ${look.words}`, document: look.document };
    case "under-way":
      return { name, state: "under-way", words: `under way: ${look.words}` };
    case "refused":
      return { name, state: "refused", words: `refused: ${look.words}`, document: look.document };
  }
}

/** Describes a node whose turn is over. Pure. */
export function describeEnd(name: string, { kind, words, document }: MemberEnd): MemberState {
  return { name, state: kind, words: `${endWords[kind]}: ${words}`, document };
}

const endWords: Readonly<Record<MemberEnd["kind"], string>> = {
  proved: "proved",
  "rolled-back": "rolled back",
  settled: "failed",
  stranded: "stranded",
  refused: "refused, nothing was changed",
  unknown: "its end is not known",
};

const failures: ReadonlySet<MemberState["state"]> = new Set(["rolled-back", "settled", "stranded", "refused"]);

function formatStop(states: readonly MemberState[], why: string, { again, only }: TurnCommands): string {
  const rest = states.filter(({ state }) => state === "not-begun").map(({ name }) => name);
  const failed = states.find(({ state }) => failures.has(state));
  const goOn = "go on with the same command, which leaves out what has the new version:";
  const lines = [
    `upgrade: stopped: ${why}. No other upgrade is begun.`,
    formatStates(states).trimEnd(),
    failed === undefined ? `To ${goOn} ${again}` : `Once ${failed.name} is fixed, ${goOn} ${again}`,
    ...(failed === undefined || rest.length === 0 ? [] : [`Or go on without ${failed.name}: ${only(rest)}`]),
  ];
  return `${lines.join("\n")}\n`;
}

function formatStates(states: readonly MemberState[]): string {
  return states.map(({ name, words }) => `  ${name}: ${words.replaceAll("\n", "\n    ")}\n`).join("");
}

function formatLook(name: string, look: MemberLook): string {
  switch (look.kind) {
    case "ready":
      return `${name}: ${look.shown}`;
    case "refused":
      return look.shown === undefined ? `${name}:\n  problem: ${look.words}\n` : `${name}: ${look.shown}`;
    case "under-way":
      return `${name}: in progress; will be resumed first: ${look.words}\n`;
    case "has-version":
      return `${name}: left out: ${look.words}.\n`;
  }
}
