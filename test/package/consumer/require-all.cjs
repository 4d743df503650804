// Prints what `require` returns for each export, as JSON.
const exported = ["client", "lint", "policies", "pulumi", "pulumi/docker", "pulumi/kubernetes", "settings"];
const names = exported.map((path) => [path, Object.keys(require(`gatehouse-evm/${path}`)).toSorted()]);
process.stdout.write(JSON.stringify(Object.fromEntries(names)));
