import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { createMask } from "#daemon/secrets/mask.ts";
import { isServiceName } from "../service-definitions.ts";
import { commandExamples, listCommands } from "../command-examples.ts";
import { createProgram } from "../program.ts";

const program = createProgram({ mask: createMask() });
const commands = new Map(listCommands(program).map(({ name, command }) => [name, command]));
const read = (page: string) => readFileSync(new URL(`../../docs/${page}`, import.meta.url), "utf8");

test("the docs give every command a section, and its exit codes", () => {
  const page = read("command-line.md");
  for (const name of commands.keys()) expect(page).toMatch(new RegExp(`^## ${name}$`, "m"));
  const exits = read("exit-codes.md");
  for (const name of commands.keys()) {
    const [group] = name.split(" ");
    const title = isServiceName(name) ? "services" : `\`(?:${name}|${group})\``;
    expect(exits).toMatch(name === "pay" ? /^## pay$[^#]*^- 0: \S/m : new RegExp(`^\\| ${title} +\\| \\S`, "m"));
  }
});

test("gives every command an example that uses only valid options", () => {
  expect(Object.keys(commandExamples).toSorted()).toEqual([...commands.keys()].toSorted());
  for (const [name, examples] of Object.entries(commandExamples)) {
    const known = commands.get(name)?.options.flatMap(({ long, short }) => [long, short]) ?? [];
    for (const example of examples) {
      const [, typed = ""] = example.split(`gatehouse ${name}`);
      expect(example).toContain(`gatehouse ${name}`);
      const options = typed.split(" ").filter((word) => word.startsWith("-"));
      expect([example, options.filter((option) => !known.includes(option))]).toEqual([example, []]);
    }
  }
});
