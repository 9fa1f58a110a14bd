from discotree.cli import main

main()
