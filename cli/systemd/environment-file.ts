/**
 * Writes variables as systemd reads them (systemd.exec(5), EnvironmentFile): in double quotes, where a backslash stands before what has a meaning.
 */
export function formatEnvironmentFile(service: string, variables: Readonly<Record<string, string>>): string {
  const lines = Object.entries(variables).map(
    ([name, value]) => `${name}="${value.replaceAll(/["\\$`]/g, (found) => `\\${found}`)}"\n`,
  );
  return `# Settings of the service; "gatehouse ${service} --help --all" lists all. Restart it after a change: systemctl restart gatehouse-${service}\n${lines.join("")}`;
}
