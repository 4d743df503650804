import { Command, InvalidArgumentError } from "@commander-js/extra-typings";
import type { Mask } from "#daemon/mask.ts";
import { terminalOutput } from "./terminal-output.ts";

/** Makes `gatehouse doctor`: looks at what runs, and changes nothing. */
export function doctorCommand({ mask }: Readonly<{ mask: Mask }>) {
  return new Command("doctor")
    .summary("Ask what runs whether it still is what it should be; changes nothing")
    .description(
      "With --drift it asks the running services of a stack for what Pulumi's refresh can't see: the settings and files that they run with, node.conf, and whether they reach each other. Exits 0 when nothing is wrong, 2 when something is, 1 when it could not look.",
    )
    .option("--drift", "compare the running services with what the stack gave them", false)
    .option("--outputs <file>", 'what "pulumi stack output --json" prints; - is standard input', "-")
    .option(
      "--url <service=url>",
      "where a service is asked instead, e.g. sidecar=http://127.0.0.1:9600; may be repeated",
      collectUrl,
      {},
    )
    .option("--json", "print JSON for machines", false)
    .action(async ({ drift, outputs, url, json }) => {
      const output = terminalOutput({ mask });
      if (!drift) {
        output.error("doctor: say what to look at: --drift.\n");
        process.exitCode = 1;
        return;
      }
      const { diagnose } = await import("./doctor/diagnose.ts");
      process.exitCode = await diagnose({ outputs, urls: url, json }, output);
    });
}

function collectUrl(text: string, before: Readonly<Record<string, string>>): Readonly<Record<string, string>> {
  const [, name, url] = /^([a-z-]+)=(.+)$/.exec(text) ?? [];
  if (name === undefined || url === undefined || !/^https?:$/.test(URL.parse(url)?.protocol ?? "")) {
    throw new InvalidArgumentError("expected <service>=<http or https URL>, e.g. sidecar=http://127.0.0.1:9600");
  }
  return { ...before, [name]: url };
}
