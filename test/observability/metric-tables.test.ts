import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { parse } from "yaml";
import { findOperationsPort, isOperatedService, listScrapedServices, stackServices } from "#infra/stack-services.ts";

const root = join(import.meta.dirname, "../..");

test("the documented scrape_configs match the jobs, ports and labels of the rules", () => {
  const page = readFileSync(join(root, "docs/observability.md"), "utf8");
  const [, block = ""] = /```yaml\n# prometheus\.yml\n(.*?)```/s.exec(page) ?? [];
  const { scrape_configs: jobs } = parse(block) as { scrape_configs: readonly { job_name: string }[] };
  const services = listScrapedServices().map((service) => ({
    service,
    port: isOperatedService(service) ? findOperationsPort(service) : stackServices[service].ports.http,
    honors: "honorLabels" in stackServices[service],
  }));
  const expected = services.map(({ service, port, honors }) => ({
    job_name: `gatehouse/${service}`,
    ...(honors ? { honor_labels: true } : {}),
    static_configs: [{ targets: [`127.0.0.1:${port}`], labels: { gatehouse: service } }],
  }));
  expect(jobs).toHaveLength(expected.length);
  expect(jobs).toEqual(expect.arrayContaining(expected));
});
