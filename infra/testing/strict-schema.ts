import { join } from "node:path";
import ts from "typescript";
import { locateSchemaModule, type Typed } from "./kubernetes-schema.ts";

/** The published types, parsed once per process for all tests. */
const published = new Map<string, ts.SourceFile>();

/**
 * Reports fields that are in no published schema, one per line. Writes every object as a literal typed as its kind; the type is generated
 * from the OpenAPI schema, so the compiler rejects unknown fields at any depth.
 */
export function findUnknownFields(manifests: readonly Typed[]): readonly string[] {
  const files = new Map(
    manifests.map((manifest, index) => [join(import.meta.dirname, `${index}.strict.ts`), manifest]),
  );
  const options: ts.CompilerOptions = {
    module: ts.ModuleKind.NodeNext,
    moduleResolution: ts.ModuleResolutionKind.NodeNext,
    // The objects' types need no runtime or browser types.
    lib: ["lib.es5.d.ts"],
    noEmit: true,
    skipLibCheck: true,
    strict: true,
    types: [],
  };
  const host = ts.createCompilerHost(options);
  const inherited = { getSourceFile: host.getSourceFile.bind(host), fileExists: host.fileExists.bind(host) };
  host.fileExists = (path) => files.has(path) || inherited.fileExists(path);
  host.getSourceFile = (path, language, ...rest) => {
    const manifest = files.get(path);
    if (manifest !== undefined) return ts.createSourceFile(path, printLiteral(manifest), language);
    const source = published.get(path) ?? inherited.getSourceFile(path, language, ...rest);
    if (source !== undefined) published.set(path, source);
    return source;
  };
  const program = ts.createProgram([...files.keys()], options, host);
  return [...files].flatMap(([path, manifest]) =>
    program.getSemanticDiagnostics(program.getSourceFile(path)).map(({ messageText }) => {
      const name = (manifest as Readonly<{ metadata?: { name?: string } }>).metadata?.name ?? "";
      return `${manifest.kind} ${name}: ${ts.flattenDiagnosticMessageText(messageText, "\n")}`;
    }),
  );
}

function printLiteral(manifest: Typed): string {
  const type = `I${manifest.kind}`;
  return `import type { ${type} } from "${locateSchemaModule(manifest)}";\nexport const manifest: ${type} = ${JSON.stringify(manifest)};\n`;
}
