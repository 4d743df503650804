import { beforeEach, describe, expect, it } from "vitest";
import type { Member, MemberEnd, MemberLook } from "./member.ts";
import { upgradeInTurn, type TurnOptions } from "./upgrade-in-turn.ts";

/** Events, in order. */
let log: string[];
let stopping: AbortController;

beforeEach(() => {
  log = [];
  stopping = new AbortController();
});

/** State and behaviour of a test's node. */
type Given = Readonly<{
  kind?: MemberLook["kind"];
  /** Number of looks at which it is refused because it is not well. */
  unwell?: number;
  end?: MemberEnd["kind"];
  /** Runs in the middle of its upgrade. */
  during?: () => void;
  trouble?: () => string | undefined;
}>;

function createMember(name: string, given: Given = {}): Member {
  const { kind = "ready", end = "proved", during, trouble } = given;
  let { unwell = 0 } = given;
  let now = kind;
  const work = async (say: (text: string) => void): Promise<MemberEnd> => {
    log.push(`${name} begins`);
    say("it works\nand works\n");
    during?.();
    log.push(`${name} ends`);
    if (end === "proved") now = "has-version";
    return { kind: end, words: `the end of ${name}`, document: { upgrade: { end } } };
  };
  return {
    name,
    look: async () => {
      log.push(`look at ${name}`);
      unwell -= 1;
      if (unwell >= 0) return { kind: "refused", words: "it missed an answer", mayPass: true };
      if (now === "ready") return { kind: now, shown: `the plan of ${name}\n`, begin: work };
      if (now === "under-way") return { kind: now, words: `copying ${name}`, goOn: work };
      return { kind: now, words: now === "refused" ? "a hold is in force" : "it has 0.17.0 already" };
    },
    findTrouble: async () => {
      log.push(`is ${name} well?`);
      return trouble?.();
    },
  };
}

const commands = { again: "gatehouse again", only: (names: readonly string[]) => `gatehouse only ${names.join(" ")}` };

async function type(members: readonly Member[], more: Partial<TurnOptions> = {}) {
  const [printed, errors]: [string[], string[]] = [[], []];
  const output = { out: (text: string) => printed.push(text), error: (text: string) => errors.push(text) };
  const options = { members, commands, dryRun: false, yes: true, confirm: undefined, ...more };
  const status = await upgradeInTurn(options, {
    output: { ...output, isColored: false },
    signal: stopping.signal,
    wellWithinMs: 0,
  });
  return { status, printed: printed.join(""), errors: errors.join("") };
}

const begun = () => log.filter((line) => line.endsWith("begins"));

describe("upgradeInTurn", () => {
  it("looks at all, and has one begin once the one before has ended and the others are well", async () => {
    const { status, printed } = await type([createMember("a"), createMember("b"), createMember("c")]);
    expect(log.join("; ")).toBe(
      "look at a; look at b; look at c; is b well?; is c well?; a begins; a ends; " +
        "is a well?; is c well?; b begins; b ends; is a well?; is b well?; c begins; c ends",
    );
    expect(printed).toContain("a: the plan of a\nb: the plan of b\nc: the plan of c\na: it works\na: and works\n");
    expect(printed).toContain("a: and works\na: Proved.\nb: it works\n");
    expect(printed).toContain("All of them have the new version:\n  a: proved: the end of a\n");
    expect(status).toBe(0);
  });

  it("begins none where one is refused", async () => {
    const found = await type([createMember("a"), createMember("b", { kind: "refused" }), createMember("c")]);
    expect(begun()).toEqual([]);
    expect(found.printed).toContain("b:\n  problem: a hold is in force\n");
    expect(found.errors).toContain("b can't be upgraded now, for the reasons above; no upgrade was begun.");
    expect(found.status).toBe(1);
  });

  it("waits for one that is not well for a moment, and begins none where it stays so", async () => {
    const found = await type([createMember("a"), createMember("b", { unwell: 1 })]);
    expect(log.slice(0, 4)).toEqual(["look at a", "look at b", "is b well?", "look at b"]);
    expect([begun(), found.status]).toEqual([["a begins", "b begins"], 0]);
    log = [];
    expect((await type([createMember("a"), createMember("b", { unwell: 9 })])).status).toBe(1);
    expect(begun()).toEqual([]);
  });

  it("leaves out what has the version, and has nothing to do where all have it", async () => {
    const found = await type([createMember("a", { kind: "has-version" }), createMember("b")]);
    expect(found.printed).toContain("a: left out: it has 0.17.0 already.\n");
    expect([begun(), found.status]).toEqual([["b begins"], 0]);
    const nothing = await type([createMember("a", { kind: "has-version" })], { yes: false });
    expect(nothing).toMatchObject({ status: 0, errors: "" });
  });

  it.each(["rolled-back", "stranded", "settled", "refused"] as const)(
    "stops at the first that is %s, and says how to go on with and without it",
    async (end) => {
      const found = await type([createMember("a"), createMember("b", { end }), createMember("c"), createMember("d")]);
      expect([begun(), found.status]).toEqual([["a begins", "b begins"], 1]);
      expect(found.errors).toContain("upgrade: stopped: b is not proved. No other upgrade is begun.\n");
      expect(found.errors).toContain("  a: proved: the end of a\n");
      expect(found.errors).toMatch(/ {2}b: .+: the end of b\n {2}c: not begun\n {2}d: not begun\n/);
      expect(found.errors).toMatch(/Once b is fixed, go on with the same command, .+: gatehouse again\n/);
      expect(found.errors).toContain("Or go on without b: gatehouse only c d\n");
    },
  );

  it("stops at one whose end is not known, for the same command to follow", async () => {
    const found = await type([createMember("a", { end: "unknown" }), createMember("b")]);
    expect([begun(), found.status]).toEqual([["a begins"], 1]);
    expect(found.errors).toMatch(/To go on with the same command, .+: gatehouse again\n$/);
  });

  it("stops where another node is not well when the next one's turn has come", async () => {
    let trouble: string | undefined;
    const first = createMember("a", { during: () => (trouble = "the port is closed"), trouble: () => trouble });
    const found = await type([first, createMember("b")]);
    expect(begun()).toEqual(["a begins"]);
    expect(found.errors).toContain("stopped: a is not well: the port is closed.");
    expect(found.errors).toContain("  a: proved: the end of a\n  b: not begun\n");
    expect(found.status).toBe(1);
  });

  it("follows what an earlier run began to its end before it looks at the others again and asks", async () => {
    const found = await type([createMember("a"), createMember("b", { kind: "under-way" })], { yes: false });
    expect(log).toEqual(["look at a", "look at b", "b begins", "b ends", "look at a", "look at b"]);
    expect(found.errors).toBe("upgrade: nothing else was begun. Without a terminal, say --yes.\n");
    log = [];
    const failed = await type([createMember("a"), createMember("b", { kind: "under-way", end: "rolled-back" })]);
    expect([begun(), failed.status]).toEqual([["b begins"], 1]);
  });

  it("begins nothing more once it is ended by a signal", async () => {
    const found = await type([createMember("a", { during: () => stopping.abort() }), createMember("b")]);
    expect([begun(), found.status]).toEqual([["a begins"], 1]);
    expect(found.errors).toContain("stopped: it was ended by a signal.");
  });

  it("asks once, for all of them in their order", async () => {
    const questions: string[] = [];
    const members = [createMember("a"), createMember("b", { kind: "has-version" }), createMember("c")];
    const confirm = async (question: string) => questions.push(question) > 0;
    expect((await type(members, { yes: false, confirm })).status).toBe(0);
    expect(questions).toEqual(["Upgrade a, then c now, each once the one before is proved? [y/N] "]);
  });

  it("only shows with --dry-run, what is under way as well", async () => {
    const found = await type([createMember("a"), createMember("b", { kind: "under-way" })], { dryRun: true });
    expect([begun(), found.status, found.errors]).toEqual([[], 0, ""]);
    expect(found.printed).toBe("a: the plan of a\nb: in progress; will be resumed first: copying b\n");
  });

  it("prints one document with --json", async () => {
    const shown = await type([createMember("a")], { json: true, yes: false });
    expect([begun(), shown.status]).toEqual([[], 1]);
    expect(JSON.parse(shown.printed)).toEqual({
      result: "shown",
      nodes: [{ name: "a", state: "ready", message: "it can be upgraded" }],
    });
    const found = await type([createMember("a", { end: "rolled-back" }), createMember("b")], { json: true });
    expect(JSON.parse(found.printed)).toEqual({
      result: "stopped",
      message: "a is not proved",
      nodes: [
        { name: "a", state: "rolled-back", message: "rolled back: the end of a", upgrade: { end: "rolled-back" } },
        { name: "b", state: "not-begun", message: "not begun" },
      ],
    });
    expect(found.status).toBe(1);
  });
});
