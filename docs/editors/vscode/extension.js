// Registers `gpudbg dap` as the debug adapter of type "gpudbg".
const vscode = require("vscode");

exports.activate = (context) => {
  const factory = {
    createDebugAdapterDescriptor: () => {
      const command = vscode.workspace.getConfiguration("gpudbg").get("path", "gpudbg");
      return new vscode.DebugAdapterExecutable(command, ["dap"]);
    },
  };
  context.subscriptions.push(vscode.debug.registerDebugAdapterDescriptorFactory("gpudbg", factory));
};

exports.deactivate = () => {};
