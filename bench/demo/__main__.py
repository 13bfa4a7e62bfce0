"""`python -m bench.demo`: fill an empty LOCI_HOME."""

from bench.demo.fill import main

if __name__ == "__main__":
    main()
