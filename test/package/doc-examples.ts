import { globSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import ts from "typescript";

const root = join(import.meta.dirname, "../..");

/** Function or class that the package exports, by its import, and the `@example` of its docstring. */
export type ExportedCall = Readonly<{ from: string; name: string; example: string | undefined }>;

/** An example as a module: `text` is the docstring's code, after the import of the names that it assumes. */
type ExampleModule = Readonly<{ path: string; text: string }>;

/** Directory in which an example would be its own file. */
const folder = join(root, "test/package");

/** Lists the source of each import of the package, such as `gatehouse-evm/client`. */
function listEntries(): ReadonlyMap<string, string> {
  const { name, exports } = JSON.parse(readFileSync(join(root, "package.json"), "utf8")) as {
    name: string;
    exports: Readonly<Record<string, string>>;
  };
  const compiled = Object.entries(exports).filter(([, path]) => path.startsWith("./dist/"));
  return new Map(
    compiled.map(([entry, path]) => [
      `${name}${entry.slice(1)}`,
      join(root, path.replace("./dist/", "").replace(/\.js$/, ".ts")),
    ]),
  );
}

/** Sources that the compiler has read; they are the same for each program. */
const readSources = new Map<string, ts.SourceFile | undefined>();

function createHost(options: ts.CompilerOptions): ts.CompilerHost {
  const host = ts.createCompilerHost(options);
  const { getSourceFile } = host;
  host.getSourceFile = (path, ...rest) => {
    if (!readSources.has(path)) readSources.set(path, getSourceFile.call(host, path, ...rest));
    return readSources.get(path);
  };
  return host;
}

/** Lists all exported functions and classes, in the order of the imports, except errors, which users don't construct. */
export function listExportedCalls(): readonly ExportedCall[] {
  const entries = listEntries();
  const options = readCompilerOptions(entries);
  const program = ts.createProgram([...entries.values()], options, createHost(options));
  const checker = program.getTypeChecker();
  return [...entries].flatMap(([from, path]) => {
    const source = program.getSourceFile(path);
    const module = source && checker.getSymbolAtLocation(source);
    return (module === undefined ? [] : checker.getExportsOfModule(module)).flatMap((exported) => {
      const symbol = exported.flags & ts.SymbolFlags.Alias ? checker.getAliasedSymbol(exported) : exported;
      const isCalled = (symbol.flags & (ts.SymbolFlags.Function | ts.SymbolFlags.Class)) !== 0;
      if (!isCalled || exported.name.endsWith("Error")) return [];
      const tag = symbol.getJsDocTags(checker).find(({ name }) => name === "example");
      return [{ from, name: exported.name, example: tag && ts.displayPartsToString(tag.text).trim() }];
    });
  });
}

/** Reads the TypeScript on the pages, by the page's path. */
export function readPageExamples(): readonly Readonly<{ page: string; text: string }>[] {
  const pages = globSync("**/*.md", { cwd: root, exclude: ["**/node_modules/**", "dist/**", ".gatehouse/**"] });
  return pages.toSorted().flatMap((page) => {
    const blocks = readFileSync(join(root, page), "utf8").matchAll(/^```ts\n(.*?)^```$/gms);
    return [...blocks].map(([, text = ""]) => ({ page, text }));
  });
}

/** Compiles examples, and returns the compiler's messages, one per line. */
export function checkExamples(examples: readonly string[], given: readonly string[]): readonly string[] {
  const modules = examples.map((example, index) => buildExampleModule(example, index, given));
  const texts = new Map(modules.map(({ path, text }) => [path, text]));
  const options = readCompilerOptions(listEntries());
  const host = createHost(options);
  const { fileExists, readFile, getSourceFile } = host;
  host.fileExists = (path) => texts.has(path) || fileExists.call(host, path);
  host.readFile = (path) => texts.get(path) ?? readFile.call(host, path);
  host.getSourceFile = (path, version, ...rest) => {
    const text = texts.get(path);
    return text === undefined
      ? getSourceFile.call(host, path, version, ...rest)
      : ts.createSourceFile(path, text, version);
  };
  const program = ts.createProgram([...texts.keys()], options, host);
  return [...texts.keys()].flatMap((path) => {
    const source = program.getSourceFile(path);
    return [...program.getSyntacticDiagnostics(source), ...program.getSemanticDiagnostics(source)].map(
      ({ messageText, start = 0 }) => {
        const line = texts.get(path)?.slice(start).split("\n")[0] ?? "";
        return `${line}: ${ts.flattenDiagnosticMessageText(messageText, " ")}`;
      },
    );
  });
}

/** Compiles an example to a module that imports the package's sources; `places` replaces addresses in it. */
export function compileExample(
  example: string,
  given: readonly string[],
  places: Readonly<Record<string, string>>,
): string {
  const { text } = buildExampleModule(example, 0, given);
  const moved = Object.entries(places).reduce((before, [from, to]) => before.replaceAll(from, to), text);
  const sources = [...listEntries()].toSorted(([a], [b]) => b.length - a.length);
  const imported = sources.reduce(
    (before, [from, path]) => before.replaceAll(`"${from}"`, quoteUrl(path)),
    moved.replace('"./example-scope.ts"', quoteUrl(join(folder, "example-scope.ts"))),
  );
  const { outputText } = ts.transpileModule(imported, {
    compilerOptions: { module: ts.ModuleKind.ESNext, target: ts.ScriptTarget.ESNext, verbatimModuleSyntax: true },
  });
  return outputText;
}

function quoteUrl(path: string): string {
  return JSON.stringify(pathToFileURL(path).href);
}

/** Lists the output that an example documents: the comments after its `console.log`. */
export function listExpectedLines(example: string): readonly string[] {
  return [...example.matchAll(/console\.log\(.*\); \/\/ (.*)/g)].map(([, printed = ""]) => printed);
}

function buildExampleModule(example: string, index: number, given: readonly string[]): ExampleModule {
  const used = given.filter(
    (name) => new RegExp(String.raw`(?<![.\w])${name}\b(?!:)`).test(example) && !example.includes(`const ${name} =`),
  );
  const scope = used.length === 0 ? "" : `import { ${used.join(", ")} } from "./example-scope.ts";\n`;
  return { path: join(folder, `example-${index}.ts`), text: `${scope}${example}\nexport {};\n` };
}

function readCompilerOptions(entries: ReadonlyMap<string, string>): ts.CompilerOptions {
  const { config } = ts.readConfigFile(join(root, "tsconfig.json"), ts.sys.readFile) as {
    config: { compilerOptions: object };
  };
  const { options } = ts.convertCompilerOptionsFromJson(config.compilerOptions, root);
  const { incremental: _, tsBuildInfoFile: __, ...rest } = options;
  return { ...rest, paths: Object.fromEntries([...entries].map(([from, path]) => [from, [path]])) };
}
