"""The Debug Adapter Protocol, as VS Code and Neovim speak it."""
