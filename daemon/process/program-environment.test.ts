import { expect, test } from "vitest";
import { selectVariables } from "./program-environment.ts";

test("passes a command a small fixed set of variables and those configured for it, but none of Gatehouse's", () => {
  const environment = {
    PATH: "/bin",
    LC_TIME: "C",
    DOCKER_HOST: "unix:///run/docker.sock",
    PASSWORD: "p",
    GATEHOUSE_SIDECAR_UPKEEP_CONTROL_TOKEN: "t",
    PGPASSWORD: "q",
  };
  expect(selectVariables([], environment)).toEqual({ PATH: "/bin", LC_TIME: "C" });
  const passes = ["DOCKER_*", "PASSWORD", "GATEHOUSE_SIDECAR_UPKEEP_CONTROL_TOKEN", "GATEHOUSE_*", "PG"];
  expect(selectVariables(passes, environment)).toEqual({
    PATH: "/bin",
    LC_TIME: "C",
    DOCKER_HOST: "unix:///run/docker.sock",
    PASSWORD: "p",
  });
});
