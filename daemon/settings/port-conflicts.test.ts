import { expect, test } from "vitest";
import { z } from "zod";
import { section } from "./section.ts";
import { defineSettings, readSettings } from "./settings.ts";

const listener = (port: number) =>
  section({ host: z.string().default("127.0.0.1"), port: z.coerce.number().default(port) });
const definition = defineSettings("demo", [], { listen: listener(9_600), public: listener(8_545) });
const read = (env: Readonly<Record<string, string>>) => () => readSettings(definition, { env });

test("rejects the same port for two listeners", () => {
  expect(read({ GATEHOUSE_DEMO_LISTEN_PORT: "8545" })).toThrow(
    "demo: GATEHOUSE_DEMO_LISTEN_PORT: found 8545, which GATEHOUSE_DEMO_PUBLIC_PORT also uses; change one of them.",
  );
  expect(read({ GATEHOUSE_DEMO_PUBLIC_PORT: "9600", GATEHOUSE_DEMO_PUBLIC_HOST: "0.0.0.0" })).toThrow(
    "demo: GATEHOUSE_DEMO_PUBLIC_PORT: found 9600, which GATEHOUSE_DEMO_LISTEN_PORT also uses",
  );
});

test("accepts equal ports on different addresses, and any free port twice", () => {
  expect(read({ GATEHOUSE_DEMO_LISTEN_PORT: "8545", GATEHOUSE_DEMO_LISTEN_HOST: "10.0.0.1" })).not.toThrow();
  expect(read({ GATEHOUSE_DEMO_LISTEN_PORT: "0", GATEHOUSE_DEMO_PUBLIC_PORT: "0" })).not.toThrow();
});
