import { runtime } from "@pulumi/pulumi";
import { expect, it } from "vitest";
import { watchInterruptions } from "./interruption-watch.ts";

it.each([
  ["reads the stack's previous state in a preview", true, ["pulumi:pulumi:StackReference"]],
  ["reads no previous state in an update", false, []],
])("%s", async (_, preview, expected) => {
  const read: string[] = [];
  const mocks: runtime.Mocks = {
    newResource: ({ type, name, inputs }) => {
      if (type !== "pulumi:pulumi:Stack") read.push(type);
      return { id: name, state: { ...(inputs as object), outputs: { watchedAtPreview: [] } } };
    },
    call: () => ({}),
  };
  await runtime.setMocks(mocks, "gatehouse", "test", preview, "organization");
  await runtime.runInPulumiStack(async () => {
    const watch = watchInterruptions({ project: "gatehouse", stack: "test" });
    expect(await watch.end()).toEqual([]);
    return {};
  });
  expect(read).toEqual(expected);
});
